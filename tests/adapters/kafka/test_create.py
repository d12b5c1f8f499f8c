"""Topics created on real brokers, 4.x and 3.9 with ZooKeeper: their rows are confirmed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import product

import pytest
from kafka import TopicPartition
from kafka.errors import (
    IncompatibleBrokerVersion,
    InvalidPartitionsError,
    InvalidReplicationAssignmentError,
    InvalidReplicationFactorError,
    KafkaTimeoutError,
    NodeNotReadyError,
    NoError,
    for_code,
)

from kafka_traffic import delete, described_topic, first, until
from rackwise import Kip36, Levels, Placement, Rack, add_partitions, place
from rackwise.adapters.kafka import (
    add_to_topic,
    connect,
    create_topic,
    ensure_topic,
    read_brokers,
)
from rackwise.core.errors import (
    InputError,
    InvalidAssignment,
    InvalidReplication,
    OutcomeUnknown,
    PartialFailure,
    Refused,
    ServerRefused,
    TopicExists,
    UnknownTopic,
    Unreachable,
)
from rackwise.core.placement import JavaRandom, Ring, Striped, Unaware, parse_assignment

PLACERS = [Kip36(), Unaware(), Striped(), Ring(), Levels()]


@pytest.fixture
def topic(admin):
    yield "made"
    delete(admin, "made")


def described(admin, name):
    """Partition -> replicas in order, and partition -> leader, as kafka-python tells them."""
    (found,) = admin.describe_topics([name])
    rows = {each["partition_index"]: each["replica_nodes"] for each in found["partitions"]}
    leaders = {each["partition_index"]: each["leader_id"] for each in found["partitions"]}
    return rows, leaders


def are_shown(admin, name, placement):
    """Law: every broker soon describes exactly these rows, in order, and the first of each leads.

    One broker has shown them when a topic is called made; another one may be asked here.
    """
    rows = placement.as_dict()
    until(lambda: described(admin, name)[0] == rows, f"{rows} to be described")
    leaders = dict(zip(placement, placement.leaders.tolist(), strict=True))
    until(lambda: described(admin, name)[1] == leaders, f"{leaders} to lead")


def pathed(brokers):
    """The brokers with racks as paths, which ring wants and which mean the same to the others."""
    return [replace(each, rack=Rack(f"/{each.rack}")) for each in brokers]


class TestRows:
    """The broker does not place: what it describes is what was placed, in the same order."""

    @pytest.mark.parametrize("placer", PLACERS, ids=lambda placer: placer.name)
    def test_what_each_placer_gives_is_described_and_what_it_adds(self, admin, topic, placer):
        brokers = pathed(read_brokers(admin))
        first = place(brokers, 5, 3, placer=placer, rng=JavaRandom(11))
        create_topic(admin, topic, first)
        are_shown(admin, topic, first)
        added = add_partitions(first, brokers, 5, placer=placer, rng=JavaRandom(12))
        add_to_topic(admin, topic, added)
        are_shown(admin, topic, Placement.of({**first.as_dict(), **added.as_dict()}))

    def test_configs_are_those_of_the_topic(self, admin, topic):
        rows = Placement.of({0: [1, 2]})
        create_topic(admin, topic, rows, configs={"min.insync.replicas": "2"})
        assert described_topic(admin, topic).min_insync_replicas == 2

    def test_brokers_are_read_with_their_racks(self, cluster, admin):
        assert [(b.id, b.rack) for b in read_brokers(admin)] == [
            (b.id, b.rack) for b in cluster.brokers
        ]


class TestRefusals:
    def test_a_name_that_is_taken(self, admin, topic):
        create_topic(admin, topic, Placement.of({0: [2, 1]}))
        with pytest.raises(TopicExists, match=f"topic {topic} exists already") as caught:
            create_topic(admin, topic, Placement.of({0: [0]}))
        assert "--if-not-exists" in caught.value.hint
        are_shown(admin, topic, Placement.of({0: [2, 1]}))

    def test_a_topic_that_is_not_there(self, admin):
        with pytest.raises(UnknownTopic, match="topic none-such does not exist"):
            add_to_topic(admin, "none-such", Placement(rows=[[0]], first=1))

    def test_what_the_cluster_refuses_is_told_in_its_words(self, admin, topic):
        with pytest.raises(ServerRefused, match=f"request to create topic {topic}: .*retention.ms"):
            create_topic(admin, topic, Placement.of({0: [0]}), configs={"retention.ms": "soon"})
        assert topic not in admin.list_topics()

    def test_more_replicas_than_the_topic_has(self, admin, topic):
        create_topic(admin, topic, Placement.of({0: [0, 1]}))
        with pytest.raises(ServerRefused, match="request to add partitions"):
            add_to_topic(admin, topic, Placement(rows=[[0, 1, 2]], first=1))
        are_shown(admin, topic, Placement.of({0: [0, 1]}))


@pytest.mark.kafka
class TestTheBrokerRefusesWhatWeRefuse:
    """What Rackwise rejects before sending, Kafka rejects after sending, with its own error."""

    @pytest.fixture
    def new(self, kraft_cluster):
        with closing(connect(kraft_cluster.bootstrap)) as made:
            create_topic(made, "refused", Placement.of({0: [0, 1], 1: [1, 2]}))
            yield made
            delete(made, "refused")

    def test_new_topics_and_added_partitions(self, new):
        brokers = read_brokers(new)

        def code(**topic):
            answer = new.create_topics({"other": topic}, validate_only=True, raise_errors=False)
            return for_code(answer["topics"][0]["error_code"])

        def added(count, rows):
            wanted = {"refused": {"count": count, "assignments": rows}}
            answer = new.create_partitions(wanted, validate_only=True, raise_errors=False)
            return for_code(answer.results[0].error_code)

        for partitions, replication, error in (
            (0, 1, InvalidPartitionsError),
            (1, 0, InvalidReplicationFactorError),
            (1, 5, InvalidReplicationFactorError),
        ):
            with pytest.raises(InputError):
                place(brokers, partitions, replication)
            assert code(num_partitions=partitions, replication_factor=replication) is error
        for text, rows in (("0:0", {0: [0, 0]}), ("0:1,2", {0: [0, 1], 1: [2]})):
            with pytest.raises(InvalidAssignment):
                parse_assignment(text)
            assert code(assignments=rows) is InvalidReplicationAssignmentError
        assert code(assignments={0: [9]}) is InvalidReplicationAssignmentError
        assert code(assignments={0: [0, 1]}) is NoError
        assert added(2, []) is InvalidPartitionsError
        assert added(4, [[0, 1]]) is InvalidReplicationAssignmentError
        assert added(3, [[0, 0]]) is InvalidReplicationAssignmentError
        assert added(3, [[0, 9]]) is InvalidReplicationAssignmentError
        assert added(3, [[0, 1]]) is NoError


class TestLostAnswers:
    """The result of a request without an answer is read, and the request is not sent again."""

    @pytest.fixture
    def lose(self, monkeypatch, admin):
        """`lose(method, error, sends=...)` makes a call end so; `lose.calls` has those made."""

        def lose(method, error, *, sends):
            real = getattr(admin, method)

            def lost(*args, **options):
                lose.calls.append(method)
                if sends:
                    real(*args, **options)
                raise error

            monkeypatch.setattr(admin, method, lost)

        lose.calls = []
        return lose

    def test_what_was_carried_out_is_done(self, admin, topic, lose):
        lose("create_topics", KafkaTimeoutError("lost"), sends=True)
        rows = Placement.of({0: [1, 0], 1: [0, 2]})
        create_topic(admin, topic, rows)
        are_shown(admin, topic, rows)
        lose("create_partitions", KafkaTimeoutError("lost"), sends=True)
        add_to_topic(admin, topic, Placement(rows=[[2, 1]], first=2))
        are_shown(admin, topic, Placement.of({0: [1, 0], 1: [0, 2], 2: [2, 1]}))
        assert lose.calls == ["create_topics", "create_partitions"]

    def test_what_is_not_seen_is_unknown(self, admin, topic, lose):
        lose("create_topics", KafkaTimeoutError("lost"), sends=False)
        with pytest.raises(OutcomeUnknown, match="was not answered") as caught:
            create_topic(admin, topic, Placement.of({0: [0]}), timeout_ms=300)
        assert (caught.value.exit_code, lose.calls) == (3, ["create_topics"])

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            (NodeNotReadyError("down"), Unreachable),
            (IncompatibleBrokerVersion("requires explicit num_partitions"), Refused),
        ],
    )
    def test_what_was_never_sent_is_no_question(self, admin, topic, lose, error, kind):
        lose("create_topics", error, sends=False)
        with pytest.raises(kind):
            create_topic(admin, topic, Placement.of({0: [0]}))
        assert lose.calls == ["create_topics"]


class TestOtherRows:
    def test_rows_that_somebody_changed_are_a_partial_failure(self, admin, topic, monkeypatch):
        real = admin.create_topics

        def meddled(*args, **options):
            answer = real(*args, **options)
            until(lambda: topic in admin.list_topics(), "the topic")
            admin.alter_partition_reassignments({TopicPartition(topic, 1): [2]})
            until(lambda: described(admin, topic)[0].get(1) == [2], "the move")
            return answer

        monkeypatch.setattr("rackwise.adapters.kafka.create.STEADY_S", 0.5)
        monkeypatch.setattr(admin, "create_topics", meddled)
        with pytest.raises(PartialFailure) as caught:
            create_topic(admin, topic, Placement.of({0: [0], 1: [1], 2: [2]}))
        error = caught.value
        assert error.message == (
            f"topic {topic}: of 3 partitions, 2 as requested, 1 with other replicas, 0 not shown; "
            "partition 1: expected 1, got 2"
        )
        assert (error.done, error.failed, error.skipped) == (
            (f"{topic}-0", f"{topic}-2"),
            (f"{topic}-1",),
            (),
        )
        assert error.exit_code == 3


class TestEnsure:
    def test_it_makes_what_is_not_there_once(self, admin, topic):
        assert ensure_topic(admin, topic, 4, 3, rng=JavaRandom(1)) is True
        rows = place(read_brokers(admin), 4, 3, rng=JavaRandom(1))
        are_shown(admin, topic, rows)
        assert ensure_topic(admin, topic, 9, 2, rng=JavaRandom(2)) is False
        are_shown(admin, topic, rows)

    def test_who_loses_the_race_has_its_topic(self, monkeypatch, admin, topic):
        create_topic(admin, topic, Placement.of({0: [1]}))
        monkeypatch.setattr("rackwise.adapters.kafka.create._rows", lambda *_: {})
        assert ensure_topic(admin, topic, 4, 3) is False

    def test_it_refuses_what_cannot_be(self, admin, topic):
        with pytest.raises(InvalidReplication):
            ensure_topic(admin, topic, 4, 0)
        assert topic not in admin.list_topics()


@pytest.mark.zookeeper
class TestWhatKafkaPlaces:
    """Kafka 3.9 on ZooKeeper places by KIP-36's rule, from a random start with a random shift."""

    @pytest.fixture
    def old(self, zookeeper_cluster):
        with closing(connect(zookeeper_cluster.bootstrap)) as made:
            yield made

    @pytest.fixture
    def name(self, old):
        yield "by-kafka"
        delete(old, "by-kafka")

    def test_one_start_and_shift_of_kip36_give_it_and_what_it_adds(self, old, name):
        old.create_topics({name: {"num_partitions": 7, "replication_factor": 2}})
        rows = first(lambda: described(old, name)[0], lambda rows: len(rows) == 7, "the topic")
        made, brokers = Placement.of(rows), read_brokers(old)
        pairs = product(range(len(brokers)), repeat=2)
        assert any(
            made == place(brokers, 7, 2, placer=Kip36(start=start, shift=shift))
            for start, shift in pairs
        )
        old.create_partitions({name: 12})
        added = add_partitions(made, brokers, 5, placer=Kip36(continuation="upstream"))
        are_shown(old, name, Placement.of({**made.as_dict(), **added.as_dict()}))
