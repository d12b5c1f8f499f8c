"""One client of the server: what is waited for, by which clock, and what ends it."""

from __future__ import annotations

import asyncio
import itertools
import re
import socket
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from rackwise.adapters.rpc import connection, server
from rackwise.adapters.rpc.config import Guards
from rackwise.adapters.rpc.logins import login
from rackwise.core.wire.replica_assignment import AssignmentResponse
from rpc_servers import (
    PATIENCE_S,
    connected,
    eventually,
    received,
    response_of,
    running,
    said,
)
from service_frames import assignment, framed, header

GOOD = framed(assignment(12, 3))
VERSIONS = framed(header(18, 0, version=1))
CROWD = 200
SMALL = 4096
"""Bytes of a socket's buffer, so that an answer does not fit into it."""


ROWS = np.zeros((2000, 4), dtype=np.int32)


def larger(_request, _seed):
    """An answer of 44 kB."""
    return AssignmentResponse(rows=ROWS)


@contextmanager
def narrow(server):
    """A connection that takes little before somebody reads."""
    server.server._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
    with closing(socket.socket()) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        sock.connect(("127.0.0.1", server.port))
        yield sock


def test_an_answer_is_taken_when_its_last_byte_is():
    """Not when what is left of it is small: the rest would be cut off at the end."""
    with running(larger, guards=Guards(drain_s=0.3)) as server, narrow(server) as sock:
        sock.sendall(GOOD)
        eventually(lambda: server.closed_by("slow reader") == 1)


def test_a_stop_in_the_middle_of_an_answer_lets_it_be_taken():
    guards = Guards(drain_s=PATIENCE_S, stop_s=PATIENCE_S)
    with running(larger, guards=guards) as server, narrow(server) as sock:
        sock.sendall(GOOD)
        eventually(lambda: server.told("request"))
        end = server.stop()
        eventually(lambda: _is_refused(server))
        assert np.array_equal(response_of(received(sock))[1].rows, ROWS)
        assert received(sock) is None
        end.result(PATIENCE_S)
    assert server.lines[-1] == {"type": "stopped", "requests": 1, "closed_by": {"left": 1}}


def _is_refused(server):
    try:
        connected(server.port).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # it was waiting when the listener closed
        return False
    return False


def test_a_fault_of_ours_ends_one_connection_and_is_told():
    everything = framed(header(3, 1, version=1) + b"\xff\xff\xff\xff")
    with running(advertised=("x" * 2**15, 1)) as server:
        assert said(server.port, everything) == []
        assert server.closed_by("internal") == 1
        (line,) = server.told("closed")
        assert line["detail"] == "LocalProtocolError: STRING holds 32767 bytes; host has 32768"
        assert len(said(server.port, GOOD)) == 1


def test_jumps_of_the_wall_clock_end_nothing_and_hold_nothing(monkeypatch):
    wall, jumps = time.time, itertools.cycle([0.0, 1e6, -1e6])  # noqa: TID251 (it is what jumps)
    monkeypatch.setattr(time, "time", lambda: wall() + next(jumps))
    with (
        running(guards=Guards(frame_s=0.2)) as server,
        closing(connected(server.port)) as idle,
        closing(connected(server.port)) as slow,
    ):
        idle.sendall(VERSIONS)
        assert received(idle)
        slow.sendall(GOOD[:4])
        assert received(slow) is None
        idle.sendall(GOOD)
        assert response_of(received(idle))[1].error_code == 0
        assert (server.closed_by("slow frame"), server.closed_by("idle")) == (1, 0)


def test_a_crowd_that_wants_in_leaves_turns_to_the_others():
    """All of them wait already when the loop of the server comes to accept."""
    with running(guards=Guards(per_address=1)) as server, ExitStack() as crowd:
        ended = []

        async def counted():
            for _ in range(CROWD):
                crowd.enter_context(closing(connected(server.port)))
            while sum(server.server.closed_by.values()) < CROWD - 1:
                ended.append(sum(server.server.closed_by.values()))
                await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(counted(), server.loop).result(PATIENCE_S)
        assert len(set(ended)) > CROWD / 2


@pytest.mark.parametrize("turns", range(6))
def test_who_comes_in_at_the_end_is_closed_too(turns):
    with running() as server, ExitStack() as crowd:

        async def stopped():
            socks = [crowd.enter_context(closing(connected(server.port))) for _ in range(3)]
            for _ in range(turns):
                await asyncio.sleep(0)
            await server.server.stop()
            return socks

        socks = asyncio.run_coroutine_threadsafe(stopped(), server.loop).result(PATIENCE_S)
        assert [received(sock) for sock in socks] == [None] * 3


def test_the_guide_explains_every_reason():
    root = Path(__file__).parents[3]
    guide = (root / "docs" / "guides" / "serve.md").read_text()
    table = guide.partition("| reason |")[2].partition("\n\n")[0]
    source = "".join(Path(module.__file__).read_text() for module in (connection, login, server))
    reasons = re.findall(r'(?:Closed|_count)\("([a-z ]+)"', source)
    assert sorted(re.findall(r"`([a-z ]+)`", table)) == sorted(set(reasons))
    assert "internal" in reasons
