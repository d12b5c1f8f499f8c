"""The requests of a run on real Kafka: 4.x in KRaft mode, and 3.9 with ZooKeeper."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from hand_made_plans import leaders, lists, shown
from kafka_topics import NAME
from kafka_traffic import RATES, create, delete, produce, throttled_move, until
from rackwise.adapters.kafka.applying.elect import elect_preferred
from rackwise.adapters.kafka.applying.metadata import read_replica_logs, read_rows
from rackwise.adapters.kafka.applying.reassign import (
    RequestOutcome,
    alter_reassignments,
    has_replication_flag,
)
from rackwise.adapters.kafka.applying.throttles import (
    ConfigWrite,
    ThrottleValues,
    read_throttles,
    write_throttles,
)
from rackwise.adapters.kafka.applying.world import World
from rackwise.adapters.kafka.connect import send
from rackwise.core.applying.actions import (
    Alter,
    Altered,
    Elect,
    Elected,
    Look,
    ReadThrottles,
    SetThrottles,
)
from rackwise.core.applying.model import ThrottleKey

LEADERS, FOLLOWERS = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)


@pytest.fixture
def admin(admin):
    yield admin
    delete(admin, NAME)


def rests(admin, which):
    until(
        lambda: which not in {(t.topic, t.partition) for t in admin.list_partition_reassignments()},
        f"{which} to rest",
    )


class TestReassignments:
    def test_each_partition_has_one_fate(self, admin):
        create(admin, NAME, [[0, 1], [0, 1]])
        fates = alter_reassignments(
            admin,
            {(NAME, 0): [0, 2], (NAME, 1): [0, 9], (NAME, 7): [0, 1], ("not-there", 0): [0, 1]},
            may_change_replication=False,
        )
        assert fates.accepted == {(NAME, 0)}
        assert {which: code for which, (code, _) in fates.refused.items()} == {
            (NAME, 1): "INVALID_REPLICATION_ASSIGNMENT",
            (NAME, 7): "UNKNOWN_TOPIC_OR_PARTITION",
            ("not-there", 0): "UNKNOWN_TOPIC_OR_PARTITION",
        }
        assert fates.unknown == frozenset()
        until(lambda: lists(admin, NAME) == {0: [0, 2], 1: [0, 1]}, "the move")

    def test_the_flag_keeps_the_number_of_replicas(self, admin):
        create(admin, NAME, [[0, 1]])
        wider = {(NAME, 0): [0, 1, 2]}
        if has_replication_flag(admin):
            fates = alter_reassignments(admin, wider, may_change_replication=False)
            assert fates.refused[NAME, 0][0] == "INVALID_REPLICATION_FACTOR"
            shown(admin, NAME, {0: [0, 1]})
        fates = alter_reassignments(admin, wider, may_change_replication=True)
        assert fates == RequestOutcome(accepted=frozenset({(NAME, 0)}))
        until(lambda: lists(admin, NAME) == {0: [0, 1, 2]}, "the move")

    def test_a_cancel_takes_back_what_runs_and_says_where_nothing_does(self, admin):
        create(admin, NAME, [[0, 1], [0, 1]])
        produce(bootstrap_of(admin), {(NAME, 0): 50})
        with throttled_move(admin, NAME, 0, [0, 2]):
            back = {(NAME, 0): None, (NAME, 1): None}
            fates = alter_reassignments(admin, back, may_change_replication=True)
            assert fates.accepted == {(NAME, 0)}
            assert fates.refused[NAME, 1][0] == "NO_REASSIGNMENT_IN_PROGRESS"
        until(lambda: lists(admin, NAME)[0] == [0, 1], "the way back")


def bootstrap_of(admin):
    return ",".join(
        f"{each['host']}:{each['port']}" for each in admin.describe_cluster()["brokers"]
    )


class TestElections:
    def test_the_first_replica_leads_and_leads_already(self, admin):
        create(admin, NAME, [[0, 1], [0, 1]])
        alter_reassignments(admin, {(NAME, 0): [1, 0]}, may_change_replication=False)
        until(lambda: lists(admin, NAME)[0] == [1, 0], "the order")
        assert leaders(admin, NAME)[0] == 0
        wanted = {(NAME, 0), (NAME, 1), (NAME, 5)}
        fates = elect_preferred(admin, wanted)
        assert fates.accepted == {(NAME, 0), (NAME, 1)}
        assert fates.refused[NAME, 5][0] == "UNKNOWN_TOPIC_OR_PARTITION"
        until(lambda: leaders(admin, NAME) == {0: 1, 1: 0}, "the election")


class TestThrottles:
    def test_what_is_set_is_read_back_and_what_is_deleted_is_absent(self, admin):
        create(admin, NAME, [[0, 1]])
        writes = [
            ConfigWrite(resource=NAME, key=LEADERS, value="0:0,0:1"),
            ConfigWrite(resource=NAME, key=FOLLOWERS, value=""),
            ConfigWrite(resource=0, key=RATES[0], value="12345"),
            ConfigWrite(resource=1, key=RATES[1], value="54321"),
        ]
        assert write_throttles(admin, writes) == {}
        wanted = ThrottleValues(
            brokers={0: {RATES[0]: "12345"}, 1: {RATES[1]: "54321"}, 2: {}},
            topics={NAME: {FOLLOWERS: "", LEADERS: "0:0,0:1"}},
        )
        read = lambda: read_throttles(admin, topics=[NAME, "not-there"], brokers=[0, 1, 2])  # noqa: E731
        until(lambda: read() == wanted, "what was set")
        gone = [ConfigWrite(resource=each.resource, key=each.key, value=None) for each in writes]
        assert write_throttles(admin, gone) == {}
        empty = ThrottleValues(brokers={0: {}, 1: {}, 2: {}}, topics={NAME: {}})
        until(lambda: read() == empty, "what was deleted")

    def test_what_is_refused_is_named_and_a_dead_broker_is_not_answered(self, admin):
        create(admin, NAME, [[0, 1]])
        nonsense = ConfigWrite(resource=NAME, key=LEADERS, value="nonsense")
        nobody = ConfigWrite(resource=77, key=RATES[0], value="1")
        absent = ConfigWrite(resource="not-there", key=LEADERS, value="0:0")
        failed = write_throttles(admin, [nonsense, nobody, absent])
        assert failed == {
            nonsense: "INVALID_CONFIG",
            nobody: None,
            absent: "UNKNOWN_TOPIC_OR_PARTITION",
        }
        assert read_throttles(admin, brokers=[77]).silent.keys() == {77}

    def test_a_rate_of_the_whole_cluster_is_not_the_brokers_own(self, admin):
        with default_rate(admin, "777"):
            read = lambda: read_throttles(admin, brokers=[0, 1])  # noqa: E731
            until(lambda: read().inherited.get(0) == {RATES[0]: "777"}, "the default")
            assert read().brokers[0] == {}
            world = World(admin=admin)
            told = world.answer(ReadThrottles(brokers=(0,), topics=()))
            assert told.brokers == {0: {RATES[0]: "777"}}
            key = ThrottleKey("broker", "0", RATES[0])
            world.answer(SetThrottles(changes=((key, "999"),)))
            until(lambda: read().brokers[0] == {RATES[0]: "999"}, "ours")
            world.answer(SetThrottles(changes=((key, "777"),)))
            until(lambda: read().brokers[0] == {}, "the default again")


@contextmanager
def default_rate(admin, rate):
    """A leader's rate for all brokers, until the block ends."""
    alter_default(admin, 0, rate)
    try:
        yield
    finally:
        alter_default(admin, 1, None)
        until(lambda: not read_throttles(admin, brokers=[0, 1]).inherited, "no default any more")


def alter_default(admin, operation, value):
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    key = resource.AlterableConfig(name=RATES[0], config_operation=operation, value=value)
    every = resource(resource_type=4, resource_name="", configs=[key])
    request = IncrementalAlterConfigsRequest(resources=[every], validate_only=False)
    (told,) = send(admin, request).responses
    assert told.error_code == 0, told.error_message


class TestLooking:
    def test_rows_ids_and_topics_that_are_gone(self, admin):
        create(admin, NAME, [[0, 1], [2, 0]])
        read = lambda: read_rows(admin, [NAME, "not-there"], brokers=[0, 1])  # noqa: E731
        until(lambda: not read().unsure, "both brokers to agree")
        rows = read()
        assert rows.gone == {"not-there"}
        assert (rows.unsure, rows.blank) == ({}, frozenset())
        assert {which: (row.replicas, row.leader) for which, row in rows.rows.items()} == {
            (NAME, 0): ((0, 1), 0),
            (NAME, 1): ((2, 0), 2),
        }
        (id_,) = {row.topic_id for row in rows.rows.values()}
        assert len(id_) == 22
        delete(admin, NAME)
        create(admin, NAME, [[0, 1]])
        until(lambda: read().rows.keys() == {(NAME, 0)}, "the new one")
        assert read().rows[NAME, 0].topic_id != id_

    def test_logs_of_the_partitions_asked_for_and_folders(self, admin):
        create(admin, NAME, [[0, 1]])
        produce(bootstrap_of(admin), {(NAME, 0): 10})
        logs = read_replica_logs(admin, [0, 1, 77], {NAME: [0]})
        assert logs.bytes[NAME, 0].keys() == {0, 1}
        assert logs.bytes[NAME, 0][0] >= 10_000
        assert logs.log_dirs.keys() == {0, 1}
        assert logs.silent.keys() == {77}

    def test_all_logs_those_of_some_partitions_or_none(self, admin):
        create(admin, NAME, [[0, 1], [1, 0]])
        produce(bootstrap_of(admin), {(NAME, 0): 1, (NAME, 1): 1})
        assert {(NAME, 0), (NAME, 1)} <= read_replica_logs(admin, [0], "all").bytes.keys()
        assert read_replica_logs(admin, [0], {NAME: [1]}).bytes.keys() == {(NAME, 1)}
        for none in ({}, "folders_only"):
            logs = read_replica_logs(admin, [0], none)
            assert (logs.bytes, logs.log_dirs.keys()) == ({}, {0})


class TestTheWorld:
    def test_a_move_is_seen_until_it_is_done(self, admin):
        create(admin, NAME, [[0, 1]])
        produce(bootstrap_of(admin), {(NAME, 0): 50})
        world = World(admin=admin)
        look = Look(partitions=((NAME, 0), ("not-there", 0)), sizes=True)
        with throttled_move(admin, NAME, 0, [2, 1]):
            seen = world.answer(look).partitions[NAME, 0]
            assert (seen.adding, seen.removing, set(seen.replicas)) == ((2,), (0,), {0, 1, 2})
            assert seen.target == (2, 1)
            other = world.answer(Look(partitions=()))
            assert other.foreign.keys() == {(NAME, 0)}
            assert other.live >= {0, 1, 2}
        found = world.answer(look)
        assert found.partitions.keys() == {(NAME, 0)}
        assert not found.partitions[NAME, 0].is_reassigning
        assert found.has_sizes
        assert (found.offline, found.under_min_isr, found.bad_dirs) == (frozenset(),) * 3

    def test_under_min_isr_is_of_what_is_live(self, admin):
        create(admin, NAME, [[0, 1]], min_insync_replicas="2")
        assert World(admin=admin).look([(NAME, 0)]).under_min_isr == frozenset()
        config = {"min.insync.replicas": "3"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, NAME, config)])
        until(
            lambda: World(admin=admin).look([(NAME, 0)]).under_min_isr == {(NAME, 0)},
            "three wanted",
        )

    def test_answers_leave_out_what_is_not_known_and_keep_what_was_said(self, admin):
        create(admin, NAME, [[0, 1]])
        world = World(admin=admin)
        targets = (((NAME, 0), (0, 9)), ((NAME, 3), (0, 1)))
        told = world.answer(Alter(targets=targets, allow_replication_factor_change=False))
        assert isinstance(told, Altered)
        assert told.answers == {
            (NAME, 0): "INVALID_REPLICATION_ASSIGNMENT",
            (NAME, 3): "UNKNOWN_TOPIC_OR_PARTITION",
        }
        assert "9" in world.texts[NAME, 0]
        told = world.answer(Elect(partitions=((NAME, 0),)))
        assert isinstance(told, Elected)
        assert told.answers == {(NAME, 0): None}
