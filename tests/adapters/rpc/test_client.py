"""Clients of Kafka's against the service: kafka-python's admin, and librdkafka's."""

from __future__ import annotations

import asyncio
import gc
import re
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from confluent_kafka.admin import AdminClient
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.net.transport import KafkaTCPTransport

from kafka_traffic import until
from rackwise.adapters.rpc import client
from rackwise.adapters.rpc.client import CreateReplicaAssignmentOptions, ReplicaAssignmentClient
from rackwise.adapters.rpc.config import (
    Guards,
)
from rackwise.core.errors import (
    InvalidConfig,
    LocalProtocolError,
    NotRackwise,
    RemoteProtocolError,
    ServerRefused,
    Unreachable,
    UnsupportedClient,
)
from rackwise.core.placement import JavaRandom, Placement, RackMode, Unaware, place
from rackwise.core.replica_service import calls
from rackwise.core.wire.replica_assignment import AssignmentResponse
from rpc_servers import BROKERS, PATIENCE_S, placed, running

ID = "asks-for-rows"
NAMES = re.compile(rb'(?:"requestApiKeyName":"|apiKey: )([A-Z_]+)')
SIMPLE = CreateReplicaAssignmentOptions(force_simple_assignment=True)


@pytest.fixture(scope="module")
def shared():
    with running() as server:
        yield server


@pytest.fixture
def admin(shared):
    with ReplicaAssignmentClient(bootstrap_servers=shared.bootstrap) as admin:
        yield admin


def asked(admin, *arguments):
    return admin.create_replica_assignment(*arguments).assignments().result(PATIENCE_S)


class TestRows:
    def test_twelve_partitions_are_those_of_place_with_the_logged_seed(self, admin, shared):
        rows = asked(admin, 12, 3)
        wanted = place(BROKERS, 12, 3, rng=JavaRandom(shared.told("request")[-1]["seed"]))
        assert rows == wanted.as_dict()
        assert Placement.of(rows) == wanted

    def test_the_future_can_be_awaited(self, admin):
        """KIP-879: `KafkaFuture<Map<Integer, Integer[]>> assignments()`."""

        async def awaited():
            results = [admin.create_replica_assignment(p, 2) for p in range(1, 9)]
            return await asyncio.gather(
                *(asyncio.wrap_future(each.assignments()) for each in results)
            )

        assert [len(rows) for rows in asyncio.run(awaited())] == [*range(1, 9)]

    def test_racks_are_ignored_and_brokers_chosen_where_that_is_asked(self, admin, shared):
        rows = asked(admin, 6, 2, (4, 1, 0), SIMPLE)
        line = shared.told("request")[-1]
        assert (line["ids"], line["simple"]) == (3, True)
        wanted = place(
            [BROKERS[0], BROKERS[1], BROKERS[4]],
            *(6, 2),
            placer=Unaware(),
            racks=RackMode.DISABLED,
            rng=JavaRandom(line["seed"]),
        )
        assert rows == wanted.as_dict()

    def test_a_hundred_thousand_partitions_come_in_one_answer(self, admin):
        rows = asked(admin, 100_000, 3)
        assert len(rows) == 100_000
        assert {len(row) for row in rows.values()} == {3}

    def test_many_requests_at_once_keep_their_answers(self, admin):
        results = [admin.create_replica_assignment(p, 1).assignments() for p in range(1, 65)]
        assert [len(each.result(PATIENCE_S)) for each in results] == [*range(1, 65)]

    def test_one_may_be_under_way_at_a_time(self, shared):
        with ReplicaAssignmentClient(
            bootstrap_servers=shared.bootstrap, max_in_flight_requests_per_connection=1
        ) as admin:
            results = [admin.create_replica_assignment(p, 1).assignments() for p in range(1, 9)]
            assert [len(each.result(PATIENCE_S)) for each in results] == [*range(1, 9)]

    def test_padding_is_no_broker(self):
        rows = np.array([[1, 2, 300], [2, -1, -1]], dtype=np.int32)

        def answer(_request, _seed):
            return AssignmentResponse(rows=rows)

        with (
            running(answer) as server,
            ReplicaAssignmentClient(bootstrap_servers=server.bootstrap) as admin,
        ):
            assert asked(admin, 2, 3) == {0: [1, 2, 300], 1: [2]}

    @pytest.mark.parametrize(("first", "had"), [(5, "5 to 6"), (0, "0 to 1"), (1, "1 to 2")])
    def test_rows_of_other_partitions_are_no_answer(self, first, had):
        rows = np.array([[1, 2], [2, 1]], dtype=np.int32)

        def answer(_request, _seed):
            return AssignmentResponse(rows=rows, first=first)

        with (
            running(answer) as server,
            ReplicaAssignmentClient(bootstrap_servers=server.bootstrap) as admin,
        ):
            with pytest.raises(RemoteProtocolError) as refused:
                asked(admin, 3, 2)
            assert str(refused.value) == (
                f"offset 0: expected rows of partitions 0 to 2, got {had}"
            )

    def test_the_key_may_be_moved_on_both_sides(self):
        with running(api_key=1234) as server:
            with ReplicaAssignmentClient(bootstrap_servers=server.bootstrap, api_key=1234) as admin:
                assert len(asked(admin, 3, 1)) == 3
            with warnings.catch_warnings():
                # of the connection that kafka-python opens again when the client is closed
                warnings.simplefilter("ignore", ResourceWarning)
                with (
                    ReplicaAssignmentClient(bootstrap_servers=server.bootstrap) as admin,
                    pytest.raises(Unreachable),
                ):
                    asked(admin, 3, 1)
                gc.collect()


class TestCodes:
    @pytest.mark.parametrize(
        ("arguments", "code", "name"),
        [
            ((0, 1), 37, "INVALID_PARTITIONS"),
            ((1, 5, (0, 1, 2, 3)), 38, "INVALID_REPLICATION_FACTOR"),
            ((1, 1, (9,)), 39, "INVALID_REPLICA_ASSIGNMENT"),
            ((200_000, 1), 42, "INVALID_REQUEST"),
        ],
    )
    def test_the_servers_sentence_comes_verbatim(self, admin, arguments, code, name):
        with pytest.raises(ServerRefused) as refused:
            asked(admin, *arguments)
        assert (refused.value.code, refused.value.name) == (code, name)
        assert (refused.value.wanted, refused.value.had) == ("rows", code)
        assert str(refused.value)

    def test_late_and_broken(self):
        may_go = threading.Event()

        def answer(request, seed):
            if request.num_partitions == 1:
                raise RuntimeError("broken")
            may_go.wait(PATIENCE_S)
            return placed(request, seed)

        with (
            running(answer) as server,
            ReplicaAssignmentClient(bootstrap_servers=server.bootstrap) as admin,
        ):
            with pytest.raises(ServerRefused, match="the placer failed") as refused:
                asked(admin, 1, 1)
            assert (refused.value.code, refused.value.name) == (-1, "UNKNOWN_SERVER_ERROR")
            options = CreateReplicaAssignmentOptions(timeout_ms=20)
            with pytest.raises(ServerRefused, match="within 20 ms") as refused:
                asked(admin, 2, 1, (), options)
            assert (refused.value.code, refused.value.name) == (7, "REQUEST_TIMED_OUT")
            may_go.set()

    @pytest.mark.parametrize(
        ("response", "code", "sentence"),
        [
            (
                AssignmentResponse(rows=None),
                -1,
                "the service answered no rows, with error -1, UNKNOWN_SERVER_ERROR",
            ),
            (
                AssignmentResponse(rows=None, error_code=99),
                99,
                "the service answered no rows, with error 99, a code of its own",
            ),
        ],
    )
    def test_no_rows_without_a_sentence(self, response, code, sentence):
        def answer(_request, _seed):
            return response

        with (
            running(answer) as server,
            ReplicaAssignmentClient(bootstrap_servers=server.bootstrap) as admin,
            pytest.raises(ServerRefused) as refused,
        ):
            asked(admin, 1, 1)
        assert (refused.value.code, str(refused.value)) == (code, sentence)


class TestWhatGoesWrong:
    @pytest.mark.parametrize(
        "arguments", [(True, 1), (1, 2**15), (1, 1, (2**31,)), (1, 1, (True,))]
    )
    def test_what_no_field_holds_is_not_sent(self, admin, shared, arguments):
        before = len(shared.told("request"))
        with pytest.raises(LocalProtocolError):
            admin.create_replica_assignment(*arguments)
        assert len(shared.told("request")) == before

    @pytest.mark.parametrize("timeout_ms", ["5", 2**31, True, None, 1.5])
    def test_a_time_that_no_field_holds_is_not_sent(self, admin, shared, timeout_ms):
        before = len(shared.told("request"))
        options = CreateReplicaAssignmentOptions(timeout_ms=timeout_ms)
        with pytest.raises(LocalProtocolError, match="expected an integer of 32 bits"):
            admin.create_replica_assignment(1, 1, (), options)
        assert len(shared.told("request")) == before

    def test_who_shows_another_marker_is_not_asked(self, monkeypatch):
        monkeypatch.setattr(calls, "MARKER", "another.marker")
        with (
            running() as server,
            ReplicaAssignmentClient(bootstrap_servers=server.bootstrap) as admin,
        ):
            with pytest.raises(NotRackwise) as refused:
                asked(admin, 12, 3)
            assert str(refused.value) == (
                f"{server.bootstrap} does not show rackwise.replica.assignment"
            )
            assert server.told("request") == []

    def test_a_lost_connection_is_told(self):
        has_begun, may_go = threading.Event(), threading.Event()

        def answer(request, seed):
            has_begun.set()
            may_go.wait(PATIENCE_S)
            return placed(request, seed)

        guards = Guards(stop_s=0.05)
        with running(answer, guards=guards) as server:
            admin = ReplicaAssignmentClient(bootstrap_servers=server.bootstrap)
            result = admin.create_replica_assignment(1, 1).assignments()
            assert has_begun.wait(PATIENCE_S)
            server.stop()
            with pytest.raises(Unreachable) as lost:
                result.result(PATIENCE_S)
            assert lost.value.hint.endswith("asking again changes nothing")
            may_go.set()
            admin.close()

    @pytest.mark.filterwarnings(  # kafka-python leaves the socket of what is under way
        "ignore::pytest.PytestUnraisableExceptionWarning"
    )
    def test_who_closes_the_client_is_told_that_there_is_no_answer(self):
        has_begun, may_go = threading.Event(), threading.Event()

        def answer(request, seed):
            has_begun.set()
            may_go.wait(PATIENCE_S)
            return placed(request, seed)

        with running(answer) as server:
            admin = ReplicaAssignmentClient(bootstrap_servers=server.bootstrap)
            results = [admin.create_replica_assignment(1, 1).assignments() for _ in range(9)]
            assert has_begun.wait(PATIENCE_S)
            admin.close()
            gc.collect()
            for each in results:
                with pytest.raises(Unreachable):
                    each.result(PATIENCE_S)
            may_go.set()
            admin.close()

    @pytest.mark.parametrize("ends", [False, True])
    def test_a_connection_that_ended_as_it_was_asked_is_lost(self, monkeypatch, shared, ends):
        with ReplicaAssignmentClient(bootstrap_servers=shared.bootstrap) as admin:

            async def least_loaded_node():
                if ends:
                    admin._ends = True
                raise RuntimeError("Transport closed for writes")

            monkeypatch.setattr(admin._manager, "least_loaded_node", least_loaded_node)
            monkeypatch.setattr(admin._manager, "get_connection", lambda broken: broken)
            result = admin.create_replica_assignment(1, 1).assignments()
            told = "the client was closed before" if ends else "did not answer: .*Transport closed"
            with pytest.raises(Unreachable, match=told):
                result.result(PATIENCE_S)

    def test_who_asks_a_closed_client_is_told_so(self, shared):
        admin = ReplicaAssignmentClient(bootstrap_servers=shared.bootstrap)
        admin.close()
        result = admin.create_replica_assignment(1, 1).assignments()
        with pytest.raises(Unreachable, match="the client was closed before the answer"):
            result.result(PATIENCE_S)

    def test_a_client_of_another_version_is_refused(self, monkeypatch, shared):
        monkeypatch.setattr(client, "version", "3.1.0")
        with pytest.raises(UnsupportedClient, match=r"expected kafka-python >=3\.0\.12,<3\.1"):
            ReplicaAssignmentClient(bootstrap_servers=shared.bootstrap)

    def test_a_key_that_is_another_message_is_refused(self):
        for key in (3, 18, -1, 1 << 15):
            with pytest.raises(InvalidConfig, match="invalid api key: expected 0 to 32767"):
                ReplicaAssignmentClient(api_key=key, bootstrap_servers="127.0.0.1:1")

    def test_the_registry_of_responses_is_the_same_before_and_after(self):
        script = (
            "from kafka.protocol.api_header import ResponseClassRegistry as registry\n"
            "import kafka\n"
            "before = dict(registry._response_class_registry)\n"
            "import rackwise.adapters.rpc.client\n"
            "assert dict(registry._response_class_registry) == before\n"
        )
        subprocess.run([sys.executable, "-c", script], check=True)


class TestOtherClients:
    def test_kafka_pythons_own_admin_bootstraps_and_sees_the_marker(self, shared):
        with KafkaAdminClient(bootstrap_servers=shared.bootstrap) as plain:
            features = plain.describe_features()
            assert features["rackwise.replica.assignment"]["supported"] == (1, 1)
            brokers = plain._manager.cluster.brokers()
            assert [(each.host, each.port) for each in brokers] == [("127.0.0.1", shared.port)]

    def test_librdkafka_lists_one_broker_and_no_topics(self, shared):
        cluster = AdminClient({"bootstrap.servers": shared.bootstrap}).list_topics(timeout=30)
        assert [(each.host, each.port) for each in cluster.brokers.values()] == [
            ("127.0.0.1", shared.port)
        ]
        assert dict(cluster.topics) == {}


@contextmanager
def requests_logged(cluster):
    """Names of what clients of an id ask the brokers meanwhile, as the brokers' own logs say.

    Among them what nobody could read: our request is no heartbeat to a broker.
    """
    logs = [cluster.folder / f"broker-{broker.id}" / "server.log" for broker in cluster.brokers]
    before = [log.stat().st_size for log in logs]

    def names(client_id):
        lines = b"".join(
            log.read_bytes()[start:] for log, start in zip(logs, before, strict=True)
        ).splitlines()
        ours = [line for line in lines if b'"clientId":"%s"' % client_id in line]
        unread = [line for line in lines if b"Error getting request for apiKey: " in line]
        return {name.decode() for line in ours + unread for name in NAMES.findall(line)}

    def level(name):
        kind = ConfigResourceType.BROKER_LOGGER
        loggers = [
            ConfigResource(kind, str(broker.id), {"kafka.request.logger": name})
            for broker in cluster.brokers
        ]
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap) as admin:
            admin.alter_configs(loggers, incremental=True)

    level("DEBUG")
    try:
        yield names
    finally:
        level("INFO")


@pytest.mark.kafka
def test_no_broker_has_logged_the_key(kraft_cluster):
    with (
        requests_logged(kraft_cluster) as names,
        ReplicaAssignmentClient(bootstrap_servers=kraft_cluster.bootstrap, client_id=ID) as admin,
    ):
        with pytest.raises(NotRackwise):
            asked(admin, 12, 3)
        admin.describe_cluster()
        until(lambda: "DESCRIBE_CLUSTER" in names(ID.encode()), "the last request to be logged")
        assert "API_VERSIONS" in names(ID.encode())
        assert "CONSUMER_GROUP_HEARTBEAT" not in names(ID.encode())


@pytest.mark.kafka
def test_a_broker_is_not_asked(kraft_cluster, monkeypatch):
    """Key 68 is ConsumerGroupHeartbeat there: what is no service gets none of it."""
    sent = []
    write = KafkaTCPTransport.write

    def recorded(self, data):
        sent.append(bytes(data))
        return write(self, data)

    monkeypatch.setattr(KafkaTCPTransport, "write", recorded)
    with ReplicaAssignmentClient(bootstrap_servers=kraft_cluster.bootstrap) as admin:
        assert 68 in admin._manager.broker_version_data.api_versions
        with pytest.raises(NotRackwise, match=r"does not show rackwise\.replica\.assignment"):
            asked(admin, 12, 3)
    keys = {int.from_bytes(frame[4:6], "big") for frame in sent if frame}
    assert 18 in keys
    assert 68 not in keys
