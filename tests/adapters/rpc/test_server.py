"""The server on its sockets: what it answers, what it closes, and that it goes on."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from rackwise.adapters.rpc.config import Guards, ServeConfig
from rackwise.adapters.rpc.server import serve
from rackwise.core.placement import JavaRandom, place
from rackwise.core.replica_service.answers import seed_of
from rackwise.core.wire.replica_assignment import AssignmentResponse
from rpc_servers import (
    BROKERS,
    PATIENCE_S,
    Holding,
    connected,
    eventually,
    placed,
    received,
    response_of,
    running,
    said,
)
from service_frames import assignment, framed, header

GOOD = framed(assignment(12, 3))
VERSIONS = framed(header(18, 0, version=1))


@pytest.fixture(scope="module")
def shared():
    with running() as server:
        yield server


def check_serves(server):
    """A good client is served."""
    (answer,) = said(server.port, GOOD)
    correlation_id, response = response_of(answer)
    assert (correlation_id, response.error_code, response.rows.shape) == (7, 0, (12, 3))


class TestAnswers:
    def test_rows_are_those_of_place_with_the_logged_seed(self, shared):
        (answer,) = said(shared.port, GOOD)
        line = shared.told("request")[-1]
        wanted = place(BROKERS, 12, 3, rng=JavaRandom(line["seed"]))
        assert response_of(answer) == (7, AssignmentResponse(rows=wanted.rows))
        assert {name: line[name] for name in ("partitions", "replication", "ids", "simple")} == {
            "partitions": 12,
            "replication": 3,
            "ids": 0,
            "simple": False,
        }
        assert (line["code"], line["bytes"]) == (0, len(answer) + 4)
        assert line["client_id"] == "rackwise"
        assert line["peer"].startswith("127.0.0.1:")
        assert line["ms"] >= 0

    def test_a_seed_of_the_service_gives_each_request_its_own(self):
        with running(seed=5) as server:
            said(server.port, GOOD * 3)
            assert [line["seed"] for line in server.told("request")] == [
                5,
                seed_of(5, 1),
                seed_of(5, 2),
            ]

    def test_names_of_clients_are_logged_escaped(self, shared):
        whole = header(68, 0, version=2, client_id="a\x1b[31m\n") + assignment()[19:]
        assert said(shared.port, framed(whole))
        assert shared.told("request")[-1]["client_id"] == "a\\x1b[31m\\x0a"

    def test_requests_in_one_segment_are_answered_in_order(self, shared):
        frames = [assignment(p, 1, correlation_id=100 + p) for p in range(1, 9)]
        answers = [response_of(each) for each in said(shared.port, framed(*frames))]
        assert [(id_, len(each.rows)) for id_, each in answers] == [
            (100 + p, p) for p in range(1, 9)
        ]

    def test_any_split_of_the_stream_gives_the_same_answers(self, shared):
        with closing(connected(shared.port)) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for cut in range(1, len(GOOD)):
                sock.sendall(GOOD[:cut])
                sock.sendall(GOOD[cut:])
                assert len(response_of(received(sock))[1].rows) == 12
            for byte in VERSIONS:
                sock.sendall(bytes([byte]))
            assert received(sock)[:6] == bytes.fromhex("00000007 0000")

    def test_64_clients_at_once_get_64_right_answers(self):
        with (
            running(guards=Guards(per_address=64, waiting=64)) as server,
            ThreadPoolExecutor(64) as pool,
        ):
            sizes = range(1, 65)
            asked = [framed(assignment(p, 3, correlation_id=p)) for p in sizes]
            for p, frames in zip(
                sizes, pool.map(lambda data: said(server.port, data), asked), strict=True
            ):
                correlation_id, response = response_of(frames[0])
                assert (correlation_id, response.rows.shape) == (p, (p, 3))

    def test_what_clients_connect_to_can_be_told(self):
        metadata = framed(header(3, 1, version=1) + b"\xff\xff\xff\xff")
        with running(advertised=("rows.internal", 29092)) as server:
            (answer,) = said(server.port, metadata)
        assert b"\x00\x0drows.internal\x00\x00\x71\xa4" in answer

    def test_the_first_line_says_where_it_listens(self, shared):
        assert shared.lines[0] == {
            "type": "listening",
            "format": "rackwise.serve/1",
            "host": "127.0.0.1",
            "port": shared.port,
            "tls": False,
            "mechanisms": [],
            "api_key": 68,
        }


class TestHostileBytes:
    """F23: truncations, bit flips, splits, hostile sizes: an answer or the end, and it lives."""

    def test_every_truncation_is_closed(self, shared):
        for end in range(len(GOOD)):
            assert said(shared.port, GOOD[:end]) == []
        check_serves(shared)

    def test_every_bit_flip_ends_in_an_answer_or_the_end(self, shared):
        for place_ in range(len(GOOD)):
            for bit in range(8):
                flipped = bytearray(GOOD)
                flipped[place_] ^= 1 << bit
                assert len(said(shared.port, bytes(flipped))) <= 1
        check_serves(shared)

    @pytest.mark.parametrize("size", [0, 7, -1, 2**31 - 1, -(2**31), (1 << 20) + 1])
    def test_hostile_sizes_are_closed_before_they_are_read(self, size):
        with running() as server:
            assert said(server.port, struct.pack(">i", size), is_over=False) == []
            (line,) = server.told("closed")
            assert line["reason"] == "protocol"
            assert line["detail"].startswith(
                "RemoteProtocolError: offset 0: expected a frame of 8 to "
            )
            assert server.closed_by("protocol") == 1
            check_serves(server)

    def test_what_is_not_served_is_closed_without_an_answer(self, shared):
        for key, version in ((0, 9), (68, 1), (1, 0), (3, 9)):
            frame = framed(header(key, version, version=1)) + GOOD
            assert said(shared.port, frame, is_over=False) == []

    def test_garbage_behind_a_good_request_does_not_take_its_answer(self, shared):
        (answer,) = said(shared.port, GOOD + b"\xff" * 64, is_over=False)
        assert response_of(answer)[1].error_code == 0

    def test_of_each_reason_one_line_a_second_is_told(self):
        with running() as server:
            for _ in range(30):
                said(server.port, bytes(4), is_over=False)
            assert server.closed_by("protocol") == 30
            assert 1 <= len(server.told("closed")) < 30


class TestSlowness:
    """F24, F25: whoever is slow loses the connection, nobody else anything."""

    def test_who_says_nothing_is_closed(self):
        with running(guards=Guards(idle_s=0.2)) as server:
            with closing(connected(server.port)) as sock:
                assert received(sock) is None
            assert server.closed_by("idle") == 1

    @pytest.mark.parametrize("begin", [1, 4, 20])
    def test_who_does_not_end_a_frame_is_closed(self, begin):
        with running(guards=Guards(frame_s=0.2)) as server:
            assert said(server.port, GOOD[:begin], is_over=False) == []
            assert server.closed_by("slow frame") == 1
            check_serves(server)

    def test_who_does_not_take_the_answer_is_closed(self):
        rows = np.zeros((600_000, 4), dtype=np.int32)

        def large(_request, _seed):
            return AssignmentResponse(rows=rows)

        with running(large, guards=Guards(drain_s=0.3)) as server:
            with closing(connected(server.port)) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                sock.sendall(GOOD)
                eventually(lambda: server.closed_by("slow reader") == 1)
            eventually(lambda: server.open() == 0)

    def test_who_hangs_up_in_the_middle_of_an_answer_frees_the_slot(self):
        held = Holding()

        with running(held) as server:
            for _ in range(4):
                sock = connected(server.port)
                sock.sendall(GOOD)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
            held.may_go.set()
            eventually(lambda: server.open() == 0)
            check_serves(server)

    def test_slots_are_bounded_per_address_and_in_all(self):
        with running(guards=Guards(per_address=3, connections=5)) as server, ExitStack() as stack:
            slots = [
                stack.enter_context(closing(connected(server.port, source=source)))
                for source in ["127.0.0.2", "127.0.0.1", "127.0.0.1", "127.0.0.1"]
            ]
            for sock in slots:
                sock.sendall(VERSIONS)
                assert received(sock)
            with closing(connected(server.port)) as late:
                assert received(late) is None
            slots.append(stack.enter_context(closing(connected(server.port, source="127.0.0.2"))))
            slots[-1].sendall(VERSIONS)
            assert received(slots[-1])
            for source in ("127.0.0.2", "127.0.0.3"):
                with closing(connected(server.port, source=source)) as late:
                    assert received(late) is None
            assert server.closed_by("limit") == 3
            slots[1].close()
            eventually(lambda: server.open() == 4)
            check_serves(server)

    def test_descriptors_are_back_at_base_after_hostile_connections(self, shared):
        def count():
            return sum(1 for _ in Path("/proc/self/fd").iterdir())

        eventually(lambda: shared.open() == 0)
        base = count()
        for number in range(300):
            said(shared.port, GOOD[: number % 40] + os.urandom(9))
        eventually(lambda: shared.open() == 0 and count() <= base)
        check_serves(shared)


class TestWorkers:
    def test_who_asks_for_little_time_is_told_so(self):
        held = Holding()

        with running(held, guards=Guards(wait_ms=50)) as server:
            (answer,) = said(server.port, framed(assignment(timeout_ms=2**31 - 1)))
            response = response_of(answer)[1]
            assert (response.error_code, response.error_message) == (
                7,
                "no answer within 50 ms",
            )
            (answer,) = said(server.port, framed(assignment(timeout_ms=-1)))
            assert "within 1 ms" in response_of(answer)[1].error_message
            held.may_go.set()

    def test_one_too_many_that_waits_is_refused_at_once(self):
        held = Holding()

        with (
            running(held, guards=Guards(workers=1, waiting=1)) as server,
            closing(connected(server.port)) as first,
            closing(connected(server.port)) as second,
        ):
            first.sendall(GOOD)
            assert held.has_begun.wait(PATIENCE_S)
            second.sendall(GOOD)
            eventually(lambda: len(server.server._workers) == 1)
            (answer,) = said(server.port, GOOD)
            response = response_of(answer)[1]
            assert response.error_code == 7
            assert response.error_message == (
                "too many requests wait: at most 1 of all clients, and 4,000,000 replicas of one "
                "client; try again later"
            )
            held.may_go.set()
            for sock in (first, second):
                assert response_of(received(sock))[1].error_code == 0

    def test_a_client_waits_for_one_request_of_others_and_not_for_all(self):
        turn, begun = threading.Semaphore(0), []

        def held(request, seed):
            begun.append(request.num_partitions)
            assert turn.acquire(timeout=PATIENCE_S)
            return placed(request, seed)

        with (
            running(held, guards=Guards(workers=1)) as server,
            ExitStack() as crowd,
            closing(connected(server.port, source="127.0.0.3")) as other,
        ):
            flood = [
                crowd.enter_context(closing(connected(server.port, source="127.0.0.2")))
                for _ in range(30)
            ]
            for sock in flood:
                sock.sendall(framed(assignment(50, 3)))
            eventually(lambda: len(server.server._workers) == len(flood) - 1)
            other.sendall(framed(assignment(6, 3)))
            eventually(lambda: len(server.server._workers) == len(flood))
            turn.release(2)
            assert len(response_of(received(other))[1].rows) == 6
            assert begun[:2] == [50, 6]
            turn.release(len(flood) - 1)
            assert {len(response_of(received(sock))[1].rows) for sock in flood} == {50}

    def test_one_client_cannot_fill_the_queue_for_others(self):
        held = Holding()

        with (
            running(held, guards=Guards(workers=1, waiting=3)) as server,
            ExitStack() as crowd,
            closing(connected(server.port, source="127.0.0.3")) as other,
        ):
            flood = [crowd.enter_context(closing(connected(server.port))) for _ in range(4)]
            flood[0].sendall(GOOD)
            assert held.has_begun.wait(PATIENCE_S)
            for number, sock in enumerate(flood[1:], 1):
                sock.sendall(GOOD)
                eventually(lambda count=number: len(server.server._workers) == count)
            other.sendall(GOOD)
            assert "too many requests wait" in response_of(received(flood[-1]))[1].error_message
            held.may_go.set()
            for sock in (*flood[:-1], other):
                assert response_of(received(sock))[1].error_code == 0

    def test_one_client_has_so_many_replicas_in_work(self):
        held = Holding()

        with (
            running(held, guards=Guards(workers=1, replicas_in_work=200)) as server,
            closing(connected(server.port)) as first,
        ):
            first.sendall(framed(assignment(30, 3)))
            assert held.has_begun.wait(PATIENCE_S)
            (answer,) = said(server.port, framed(assignment(40, 3)))
            assert "200 replicas of one client" in response_of(answer)[1].error_message
            held.may_go.set()
            assert response_of(received(first))[1].error_code == 0
            check_serves(server)

    def test_a_request_over_the_limit_is_rejected_while_large_ones_are_in_work(self):
        may_go, begun = threading.Event(), []

        def held(request, seed):
            begun.append(request.num_partitions)
            if request.num_partitions == 5000:
                may_go.wait(PATIENCE_S)
            return placed(request, seed)

        with (
            running(held, guards=Guards(workers=2)) as server,
            closing(connected(server.port)) as first,
        ):
            first.sendall(framed(assignment(5000, 3)))
            eventually(lambda: begun == [5000])
            (answer,) = said(server.port, framed(assignment(2**31 - 1, 3)))
            assert response_of(answer)[1].error_code == 42
            may_go.set()
            assert response_of(received(first))[1].error_code == 0

    @pytest.mark.parametrize("leaves", ["closed", "half closed", "reset"])
    def test_the_request_of_a_client_that_left_is_not_begun(self, leaves):
        held = Holding()

        with (
            running(held, guards=Guards(workers=1)) as server,
            closing(connected(server.port)) as first,
            closing(connected(server.port)) as second,
        ):
            first.sendall(framed(assignment(1, 3)))
            eventually(lambda: held.begun == [1])
            second.sendall(framed(assignment(2, 3)))
            eventually(lambda: len(server.server._workers) == 1)
            if leaves == "half closed":
                second.shutdown(socket.SHUT_WR)
            else:
                linger = struct.pack("ii", leaves == "reset", 0)
                second.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                second.close()
            eventually(lambda: server.closed_by("left early") == 1)
            held.may_go.set()
            assert response_of(received(first))[1].error_code == 0
            check_serves(server)
            assert held.begun == [1, 12]

    def test_who_gave_up_waiting_leaves_the_queue(self):
        held = Holding()

        late = framed(assignment(timeout_ms=20))
        with (
            running(held, guards=Guards(workers=1, waiting=1)) as server,
            closing(connected(server.port)) as first,
        ):
            first.sendall(GOOD)
            assert held.has_begun.wait(PATIENCE_S)
            for _ in range(3):
                (answer,) = said(server.port, late)
                assert "within 20 ms" in response_of(answer)[1].error_message
            held.may_go.set()
            assert response_of(received(first))[1].error_code == 0
            check_serves(server)

    def test_what_breaks_is_told_to_the_log_alone(self):
        def broken(_request, _seed):
            raise RuntimeError("secret of the placer")

        with running(broken) as server:
            (answer,) = said(server.port, GOOD)
            response = response_of(answer)[1]
            assert (response.error_code, response.rows) == (-1, None)
            assert "secret" not in response.error_message
            line = server.told("request")[-1]
            id_, _, trace = line["trace"].partition(": ")
            assert id_ in response.error_message
            assert "RuntimeError: secret of the placer" in trace
            assert line["code"] == -1

    def test_a_placer_that_would_end_the_process_does_not(self):
        def leaving(_request, _seed):
            sys.exit(3)

        with running(leaving) as server:
            for _ in range(5):
                (answer,) = said(server.port, GOOD)
                assert response_of(answer)[1].error_code == -1

    def test_an_answer_over_the_limit_is_refused(self):
        with running(guards=Guards(answer_bytes=100)) as server:
            (answer,) = said(server.port, GOOD)
            assert response_of(answer)[1] == AssignmentResponse(
                rows=None,
                error_code=42,
                error_message="an answer of up to 100 bytes is given; this one has 227",
            )


class TestStopping:
    def test_what_is_in_work_is_answered_and_what_is_idle_is_closed(self):
        held = Holding()

        with (
            running(held, guards=Guards(stop_s=PATIENCE_S)) as server,
            closing(connected(server.port)) as busy,
            closing(connected(server.port)) as idle,
        ):
            idle.sendall(VERSIONS)
            assert received(idle)
            busy.sendall(GOOD + GOOD)
            assert held.has_begun.wait(PATIENCE_S)
            end = server.stop()
            assert received(idle) is None
            with pytest.raises(OSError, match="refused"):
                connected(server.port)
            held.may_go.set()
            assert response_of(received(busy))[1].error_code == 0
            assert received(busy) is None
            end.result(PATIENCE_S)
            assert server.lines[-1]["type"] == "stopped"
            assert server.lines[-1]["requests"] == 1

    def test_what_never_ends_does_not_hold_it(self):
        may_go = threading.Event()

        def held(_request, _seed):
            may_go.wait(PATIENCE_S)

        with running(held, guards=Guards(stop_s=0.1)) as server:
            with closing(connected(server.port)) as sock:
                sock.sendall(GOOD)
                eventually(lambda: server.open() == 1)
                server.stop().result(PATIENCE_S)
                assert received(sock) is None
            may_go.set()

    def test_an_error_of_the_log_stops_it_without_a_call_of_stop(self):
        """Each placement is logged: a server that cannot log accepts no more connections."""

        lines = []

        def log(line):
            lines.append(line["type"])
            if line["type"] == "request":
                raise OSError("no space left")

        async def run():
            server = await serve(ServeConfig(port=0, log=log), placed)
            assert len(await asyncio.to_thread(said, server.port, GOOD)) == 1
            await asyncio.to_thread(eventually, lambda: lines[-1] == "stopped")
            with pytest.raises(OSError, match="no space left"):
                await server.wait()
            with pytest.raises(OSError, match="refused"):
                await asyncio.to_thread(connected, server.port)
            await server.stop()
            assert server.connections == 0

        asyncio.run(run())
        assert lines == ["listening", "request", "stopped"]
