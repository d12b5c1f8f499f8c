"""`rackwise serve` as a process, and `rackwise place --from-server` asking it."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import threading
from contextlib import ExitStack, closing
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hostile_connections import attack, is_served, main, serving
from rackwise.adapters.files import parse_placement, write_snapshot
from rackwise.adapters.rpc.client import CreateReplicaAssignmentOptions, ReplicaAssignmentClient
from rackwise.cli.place import serve
from rackwise.cli.place.options import PlacementOptions
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClusterSource
from rackwise.core.errors import InvalidConfig, ServerRefused, Unreachable
from rackwise.core.json.strict import parse
from rackwise.core.placement import parse_assignment
from rackwise.core.replica_service.answers import RequestLimits, seed_of
from refusals import called, check_refused
from rpc_servers import PATIENCE_S, SERVICE, connected, placed, received, running
from served_command import served
from service_frames import assignment, framed, header
from small_clusters import small_cluster

RACKS = {0: "a", 1: "a", 2: "b", 3: "b", 4: "c", 5: "c"}
LISTS = {f"orders-{p}": [0, 2, 4] for p in range(5)}


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "s.json"
    write_snapshot(small_cluster(RACKS, LISTS), path)
    return path


def place_command(server, partitions, replication, *more):
    size = ["--partitions", partitions, "--replication-factor", replication]
    return ["place", "--from-server", server, *size, *more]


def test_rows_from_the_service_are_those_of_place_with_its_seed(snapshot):
    """What a new user does first: serve a snapshot, ask, and repeat it by the seed."""
    with served("--snapshot", snapshot, "--placer", "kip36") as service:
        code, out, err = called(*place_command(service.server, 12, 3))
        assert (code, err) == (0, "")
        line = service.line()
        same = ["place", "--snapshot", snapshot, "--partitions", 12, "--replication-factor", 3]
        assert called(*same, "--placer", "kip36", "--seed", line["seed"])[1] == out
        with ReplicaAssignmentClient(bootstrap_servers=service.server) as admin:
            rows = admin.create_replica_assignment(12, 3).assignments().result(PATIENCE_S)
        seed = service.line()["seed"]
        _, out, _ = called(*same, "--placer", "kip36", "--seed", seed)
        assert parse_assignment(out.strip()).as_dict() == rows
        code, out, err = service.ended(signal.SIGTERM)
        assert (code, err) == (0, "")
        stopped = parse(out.splitlines()[-1].encode(), where="stdout", error=InvalidConfig)
        assert stopped == {"type": "stopped", "requests": 2, "closed_by": {"left": 4}}


def test_a_seed_racks_and_brokers_decide_as_they_do_for_place(snapshot):
    words = ["--disable-rack-aware", "--broker-list", "0,1,4"]
    with served("--snapshot", snapshot, "--seed", 42, "--no-load") as service:
        first = called(*place_command(service.server, 7, 2))
        second = called(*place_command(service.server, 7, 2, *words))
        lines = [service.line(), service.line()]
    assert [line["seed"] for line in lines] == [42, seed_of(42, 1)]
    assert [(line["simple"], line["ids"]) for line in lines] == [(False, 0), (True, 3)]
    same = ["place", "--snapshot", snapshot, "--partitions", 7, "--replication-factor", 2]
    same += ["--no-load", "--seed"]
    assert called(*same, 42) == first
    assert called(*same, seed_of(42, 1), "--placer", "unaware", *words) == second


def test_forms_of_the_rows():
    with running() as server:
        code, out, _ = called(
            *place_command(server.bootstrap, 2, 3, "--format", "reassignment", "--topic", "orders")
        )
        assert code == 0
        assert [*parse_placement(out.encode(), where="stdout")] == [("orders", 0), ("orders", 1)]
        code, out, _ = called(*place_command(server.bootstrap, 2, 6, "--json", "--ignore-racks"))
    printed = parse(out.encode(), where="stdout", error=InvalidConfig)
    rows = printed.pop("rows")
    assert code == 0
    assert [sorted(row) for row in rows] == [[*range(6)]] * 2
    leaders = [row[0] for row in rows]
    assert printed == {
        "format": "rackwise.placement/1",
        "server": server.bootstrap,
        "cluster_id": None,
        "taken_at": None,
        "topic": None,
        "placer": None,
        "placer_options": {},
        "rack_mode": "disabled",
        "seed": None,
        "first_partition": 0,
        "brokers": [{"id": id_, "replicas": 2, "leaders": leaders.count(id_)} for id_ in range(6)],
        "racks": [],
        "forced": [],
    }


def test_the_key_may_be_moved():
    with running(api_key=1234) as server:
        assert called(*place_command(server.bootstrap, 3, 1, "--api-key", 1234))[0] == 0


def test_the_service_gives_up_after_the_timeout():
    asked, may_go = [], threading.Event()

    def answer(request, seed):
        asked.append(request.timeout_ms)
        may_go.wait(PATIENCE_S)
        return placed(request, seed)

    with running(answer) as server:
        command = place_command(server.bootstrap, 3, 1)
        code, out, err = called(*command, "--timeout", 0.05)
        may_go.set()
        assert (code, out) == (1, "")
        assert "within 50 ms" in err
        assert called(*command)[0] == 0
    assert asked == [50, 60_000]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (None, "; 1 of 2 have none: 1"),
        (
            "/eu/b/",
            ' that counts; 1 of 2 have none: broker 1 ("/eu/b/": expected /level/level)',
        ),
    ],
)
def test_partial_racks_are_said_at_the_start_and_refused(tmp_path, second, said):
    path = tmp_path / "s.json"
    write_snapshot(small_cluster({0: "a", 1: second}, {}), path)
    with served("--snapshot", path) as service:
        with ReplicaAssignmentClient(bootstrap_servers=service.server) as admin:
            with pytest.raises(ServerRefused, match="all brokers must have a rack") as refused:
                admin.create_replica_assignment(1, 1).assignments().result(PATIENCE_S)
            assert refused.value.code == 42
            simple = CreateReplicaAssignmentOptions(force_simple_assignment=True)
            result = admin.create_replica_assignment(1, 2, (), simple)
            assert sorted(result.assignments().result(PATIENCE_S)[0]) == [0, 1]
        _, _, err = service.ended(signal.SIGTERM)
    assert err == (
        f"warning: all brokers must have a rack{said}: rack-aware requests will be rejected; see "
        "--rack-mode and --policy\n"
    )


class TestEnds:
    @pytest.mark.parametrize(
        ("number", "wanted"), [(signal.SIGINT, 130), (signal.SIGHUP, 0)], ids=["SIGINT", "SIGHUP"]
    )
    def test_a_signal_ends_it_in_order(self, snapshot, number, wanted):
        with (
            served("--snapshot", snapshot) as service,
            closing(connected(service.first["port"])) as idle,
        ):
            idle.sendall(framed(header(18, 0, version=1)))
            assert received(idle)
            code, out, err = service.ended(number)
            assert received(idle) is None
        assert (code, err) == (wanted, "")
        assert out.count("\n") == 1

    def test_a_log_that_nobody_reads_ends_it(self, snapshot):
        with served("--snapshot", snapshot) as service:
            service.process.stdout.close()
            with closing(connected(service.first["port"])) as sock:
                sock.sendall(framed(assignment(3, 3)))
                received(sock)
            assert service.process.wait(PATIENCE_S) == 128 + signal.SIGPIPE
            assert service.process.stderr.read() == ""
            service.process.stdout = None

    @pytest.mark.filterwarnings(  # kafka-python leaves the socket of what is under way
        "ignore::pytest.PytestUnraisableExceptionWarning"
    )
    def test_a_service_that_sleeps_is_unreachable(self, snapshot):
        with (
            served("--snapshot", snapshot) as service,
            ReplicaAssignmentClient(bootstrap_servers=service.server) as admin,
        ):
            assert len(admin.create_replica_assignment(2, 1).assignments().result(PATIENCE_S)) == 2
            service.process.send_signal(signal.SIGSTOP)
            options = CreateReplicaAssignmentOptions(timeout_ms=1)
            result = admin.create_replica_assignment(2, 1, (), options).assignments()
            with pytest.raises(Unreachable, match="the service did not answer"):
                result.result(PATIENCE_S)
            service.process.send_signal(signal.SIGCONT)
        gc.collect()


def write_rack_map(path, **rack_map):
    lines = ['format = "rackwise.policy/1"', "[racks.map]"]
    path.write_text("\n".join([*lines, *(f'{name} = "{to}"' for name, to in rack_map.items())]))


class TestReadingAgain:
    """Brokers are read again; a failed reading keeps the last one and is reported."""

    def test_the_policy_is_read_with_the_brokers(self, snapshot, tmp_path):
        policy = tmp_path / "policy.toml"
        reader = serve.ServiceReader(
            shell=Shell(),
            source=ClusterSource(snapshot, None, None),
            placement=PlacementOptions(policy=policy),
            limits=RequestLimits(),
        )
        write_rack_map(policy, a="/eu/a")
        assert {str(each.rack) for each in reader.read().brokers} == {"/eu/a", "b", "c"}
        write_rack_map(policy, a="/eu/a", b="/eu/b", c="/eu/c")
        assert {str(each.rack) for each in reader.read().brokers} == {"/eu/a", "/eu/b", "/eu/c"}

    def test_until_it_is_over(self, monkeypatch):
        monkeypatch.setattr(serve, "READ_EVERY_S", 0.001)
        first, second = replace(SERVICE), replace(SERVICE, brokers=SERVICE.brokers[:2])
        readings = [Unreachable("nobody \x1b answers"), ValueError("of \x1b another"), second]
        board, is_over, lines = serve.CurrentService(first), threading.Event(), []

        def again():
            found = readings.pop(0)
            if not readings:
                is_over.set()
            if isinstance(found, Exception):
                assert board.service is first
                raise found
            return found

        printed = SimpleNamespace(tell=lambda **line: lines.append(line))

        async def run():
            loop = asyncio.get_running_loop()
            await asyncio.to_thread(serve._read_again, board, again, is_over, loop, printed)
            await asyncio.sleep(0)

        asyncio.run(run())
        assert board.service is second
        assert lines == [
            {"type": "read", "error": "Unreachable", "message": "nobody \\x1b answers"},
            {"type": "read", "error": "ValueError", "message": "of \\x1b another"},
            {"type": "read", "brokers": 2},
        ]

    def test_an_end_in_the_middle_of_a_reading_is_no_error(self, monkeypatch):
        monkeypatch.setattr(serve, "READ_EVERY_S", 0.001)
        is_over, loop = threading.Event(), asyncio.new_event_loop()
        loop.close()

        def again():
            is_over.set()
            return SERVICE

        board = serve.CurrentService(SERVICE)
        serve._read_again(board, again, is_over, loop, SimpleNamespace(tell=print))
        assert board.service is SERVICE


class TestHostility:
    """F24: the limits hold in a process of its own."""

    def test_thousands_of_hostile_connections_cost_nothing_in_the_end(self):
        assert main(["--connections", "2000"]) == 0

    def test_it_goes_on_where_no_descriptor_is_left(self, tmp_path):
        with serving(tmp_path, descriptors=40) as (process, port), ExitStack() as stack:
            for _ in range(48):
                stack.enter_context(
                    closing(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
                )
            attack(port, 20)
            stack.close()
            assert is_served(port)
            assert process.poll() is None


class TestRefused:
    """Exit 1, one sentence, a hint; nothing on stdout."""

    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            (
                ["--listen", "127.0.0.1:9092"],
                "invalid port: expected one other than 9092, where brokers listen, got 9092",
                "write for example --listen 127.0.0.1:19092",
            ),
            (
                ["--listen", "0.0.0.0:19092"],
                (
                    "0.0.0.0 is not a loopback address: listening there requires TLS with "
                    "client certificates or logins"
                ),
                (
                    "give --tls-cert and --tls-key, with --tls-client-ca, --scram-users or "
                    "--oauth-jwks; or --insecure-i-know"
                ),
            ),
            (
                ["--listen", "nonsense"],
                "invalid --listen: expected HOST:PORT, got nonsense",
                "write for example --listen 127.0.0.1:19092",
            ),
            (
                ["--advertised", "rows:0"],
                "invalid --advertised: expected HOST:PORT, got rows:0",
                "write for example --advertised 127.0.0.1:19092",
            ),
            (
                ["--api-key", "18"],
                "invalid api key: expected 0 to 32767, not 3, 17, 18 or 36, got 18",
                "use 68 as KIP-879 does, and give client and server the same key",
            ),
            (
                ["--tls-cert", "cert.pem"],
                "expected both --tls-cert and --tls-key, got --tls-cert",
                "give both, or no TLS option",
            ),
        ],
    )
    def test_by_serve(self, snapshot, words, message, hint):
        check_refused(["serve", "--snapshot", snapshot, *words], message, hint)

    def test_by_serve_without_a_source(self):
        code, out, err = called("serve")
        assert (code, out) == (1, "")
        assert err.startswith("error: expected exactly one of --snapshot and --bootstrap-server")

    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            (
                ["--seed", "1", "--placer", "ring"],
                "--from-server cannot be combined with --placer, --seed",
                "give --placer to rackwise serve, or omit --from-server",
            ),
            (
                ["--snapshot", "s.json"],
                "--from-server cannot be combined with --snapshot",
                "give --snapshot to rackwise serve, or omit --from-server",
            ),
            (
                ["--broker-list", "1,1"],
                "invalid --broker-list: expected each broker once, got 1 twice",
                "name each broker once",
            ),
        ],
    )
    def test_by_place_from_server(self, words, message, hint):
        check_refused(place_command("127.0.0.1:1", 1, 1, *words), message, hint)

    def test_a_key_without_a_service(self, snapshot):
        size = ["--partitions", 1, "--replication-factor", 1, "--api-key", 70]
        check_refused(
            ["place", "--snapshot", snapshot, *size],
            "--api-key requires --from-server",
            "omit --api-key, or give --from-server",
        )

    def test_the_sentence_of_the_service(self):
        with running() as server:
            check_refused(
                place_command(server.bootstrap, 1, 7),
                "replication 7 needs 7 brokers; 6 are available; use fewer replicas, or name more "
                "brokers",
                None,
            )


def test_the_help_says_limits_marker_and_port():
    _, out, _ = called("serve", "--help")
    for text in ("--max-partitions", "100000", "rackwise.replica.assignment", "127.0.0.1:19092"):
        assert text in out


@pytest.mark.kafka
def test_running_brokers_are_placed_on(kraft_cluster):
    from rackwise.adapters.kafka import connect

    with (
        served("--bootstrap-server", kraft_cluster.bootstrap, "--no-load") as service,
        closing(connect(kraft_cluster.bootstrap)) as admin,
    ):
        ids = {each["broker_id"] for each in admin.describe_cluster()["brokers"]}
        code, out, _ = called(*place_command(service.server, 6, 3))
        assert code == 0
        assert set(parse_assignment(out.strip()).rows.ravel().tolist()) <= ids
        code, out, err = called(*place_command(kraft_cluster.bootstrap, 6, 3))
        assert (code, out) == (1, "")
        assert "does not show rackwise.replica.assignment" in err


@pytest.mark.kafka
def test_brokers_between_names_and_paths_are_placed_on_by_the_map_of_the_policy(
    make_kraft, tmp_path
):
    cluster = make_kraft(brokers=6, racks=("use1-az1", "use1-az2", "/us-east-1/use1-az3"))
    policy = tmp_path / "policy.toml"
    write_rack_map(policy, **{each: f"/us-east-1/{each}" for each in ("use1-az1", "use1-az2")})
    source = ["--bootstrap-server", cluster.bootstrap]
    with served(*source) as service:
        code, _, err = called(*place_command(service.server, 6, 3))
        assert (code, "all brokers must have a rack that counts" in err) == (1, True)
    with served(*source, "--policy", policy, "--seed", 42) as service:
        code, out, err = called(*place_command(service.server, 6, 3))
        assert (code, err) == (0, "")
    rows = parse_assignment(out.strip()).rows.tolist()
    assert all({broker % 3 for broker in row} == {0, 1, 2} for row in rows)
    size = ["--partitions", 6, "--replication-factor", 3]
    same = ["place", *source, *size, "--policy", policy, "--seed", 42]
    assert called(*same)[1] == out
