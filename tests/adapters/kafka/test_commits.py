"""Commits of groups: as kafka-python's own admin lists them, wherever their coordinator is."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import IncompatibleBrokerVersion, KafkaConnectionError
from kafka.structs import OffsetAndMetadata

from kafka_traffic import create, delete, produce, until
from rackwise.adapters.kafka import commits, groups, read_cluster
from rackwise.adapters.kafka.commits import read_commits
from rackwise.adapters.kafka.connect import TimedAnswer
from rackwise.adapters.kafka.groups import read_groups
from rackwise.adapters.kafka.topics import RowNumbers
from rackwise.core.model import Partition, PartitionTable

TAKEN_AT = "2026-11-01T00:00:00Z"
NOT_COORDINATOR, NO_RIGHT, GONE, NO_TOPIC = 16, 30, 69, 3


@pytest.fixture
def topic(admin, request):
    name = request.node.name.partition("[")[0].removeprefix("test_")[:60]
    yield name
    mine = [each["group_id"] for each in admin.list_groups() if each["group_id"].startswith(name)]
    if mine:
        admin.delete_groups(mine)
    delete(admin, name)


def read(admin, *topics, **options):
    options = {"offsets": True, **options}
    return read_cluster(admin, taken_at=TAKEN_AT, topics=topics, groups=True, **options)


def of(seen, name):
    """A group of this name in a snapshot; None where it is not shown."""
    return next((each for each in seen.groups if each.group == name), None)


def commit(bootstrap, group, offsets):
    """Commit `offsets[topic, partition]` for a group without members."""
    client = KafkaConsumer(
        bootstrap_servers=bootstrap.split(","), group_id=group, enable_auto_commit=False
    )
    try:
        client.assign([TopicPartition(*where) for where in offsets])
        wanted = {
            TopicPartition(*where): OffsetAndMetadata(offset, "", -1)
            for where, offset in offsets.items()
        }
        client.commit(wanted)
    finally:
        client.close()


def told(admin, group):
    """topic -> partition -> offset, as kafka-python's admin lists them."""
    found = {}
    for where, each in admin.list_group_offsets(group)[group].items():
        found.setdefault(where.topic, {})[where.partition] = each.offset
    return found


def test_commits_are_those_that_the_coordinator_tells(cluster, admin, topic):
    other = f"{topic}-other"
    create(admin, topic, [[0], [1], [2], [0]])
    create(admin, other, [[1]])
    produce(cluster.bootstrap, {(topic, 0): 9, (topic, 2): 30, (other, 0): 4})
    commit(cluster.bootstrap, f"{topic}-a", {(topic, 0): 7, (topic, 2): 30, (other, 0): 0})
    commit(cluster.bootstrap, f"{topic}-b", {(other, 0): 4})
    before_ms = time.time_ns() // 10**6
    seen = read(admin, topic, other)
    found = of(seen, f"{topic}-a")
    assert found.committed == {topic: (7, None, 30, None), other: (0,)}
    assert {
        name: {number: each for number, each in enumerate(row) if each is not None}
        for name, row in found.committed.items()
    } == told(admin, f"{topic}-a")
    assert found.members == ()
    assert before_ms - 1000 <= found.committed_at_ms <= time.time_ns() // 10**6 + 1000
    assert of(seen, f"{topic}-b").committed == {other: (4,)}
    assert seen.notes == ()
    cut = of(read(admin, other), f"{topic}-a")
    assert cut.committed == {other: (0,)}
    without = of(read(admin, topic, offsets=False), f"{topic}-a")
    assert (without.committed, without.committed_at_ms) == ({}, None)
    delete(admin, other)


def test_many_groups_are_asked_for_in_parts(cluster, admin, topic, monkeypatch):
    monkeypatch.setattr(commits, "GROUPS_PER_REQUEST", 2)
    create(admin, topic, [[0]])
    produce(cluster.bootstrap, {(topic, 0): 20})
    for number in range(7):
        commit(cluster.bootstrap, f"{topic}-{number}", {(topic, 0): number})
    seen = read(admin, topic)
    assert [of(seen, f"{topic}-{number}").committed for number in range(7)] == [
        {topic: (number,)} for number in range(7)
    ]


def test_one_group_at_a_time_is_how_older_brokers_are_asked(cluster, admin, topic, monkeypatch):
    """Real brokers answer the requests of version 7, too."""
    monkeypatch.setattr(commits, "_MANY_GROUPS", 8)
    create(admin, topic, [[0], [1]])
    produce(cluster.bootstrap, {(topic, 1): 20})
    for number in range(3):
        commit(cluster.bootstrap, f"{topic}-{number}", {(topic, 1): number})
    sent = commits.send_in_turn

    def older(admin, requests, **options):
        if any(each.groups for of in requests.values() for each in of):
            refused = TimedAnswer(IncompatibleBrokerVersion("7"), 0)
            return {broker: [refused] * len(of) for broker, of in requests.items()}
        assert {each._max_version for of in requests.values() for each in of} == {7}
        return sent(admin, requests, **options)

    monkeypatch.setattr(commits, "send_in_turn", older)
    seen = read(admin, topic)
    assert [of(seen, f"{topic}-{number}").committed for number in range(3)] == [
        {topic: (None, number)} for number in range(3)
    ]
    assert seen.notes == ()


@pytest.mark.long
def test_while_a_coordinator_moves_commits_are_right_or_told_as_missing(cluster, admin, topic):
    create(admin, topic, [[0, 1]])
    produce(cluster.bootstrap, {(topic, 0): 20})
    names = [f"{topic}-{number}" for number in range(8)]
    for number, name in enumerate(names):
        commit(cluster.bootstrap, name, {(topic, 0): number})
    wanted = {name: {topic: (number,)} for number, name in enumerate(names)}
    cluster.kill(2)
    seen = []

    def is_whole():
        seen.append(read(admin, topic))
        return all(of(seen[-1], name) for name in names)

    try:
        until(is_whole, "all groups", timeout_s=90)
        for each in seen:
            shown = {name: of(each, name) for name in names}
            known = {n: g.committed for n, g in shown.items() if g and g.committed_at_ms}
            assert known == {name: wanted[name] for name in known}
            assert len(known) == sum(group is not None for group in shown.values()) or each.notes
    finally:
        cluster.start(2)
        cluster.wait_until_ready()


class TestAnswersThatAreNoCommits:
    """What a coordinator does not tell is not known, and has a note."""

    TABLE = PartitionTable.of(
        [Partition(topic="t", partition=number, replicas=(1,)) for number in range(3)]
    )

    def group(self, name, topics=None, code=0):
        """A group of an answer; `topics[topic][partition]` is an offset, or (code,)."""
        return SimpleNamespace(
            group_id=name,
            error_code=code,
            topics=[
                SimpleNamespace(
                    name=topic,
                    partitions=[
                        SimpleNamespace(
                            partition_index=number,
                            committed_offset=-1 if isinstance(each, tuple) else each,
                            error_code=each[0] if isinstance(each, tuple) else 0,
                        )
                        for number, each in rows.items()
                    ],
                )
                for topic, rows in (topics or {}).items()
            ],
        )

    def read(self, monkeypatch, *found):
        """The commits of groups a, b, .. that one broker tells in these words."""
        message = found[0] if isinstance(found[0], Exception) else SimpleNamespace(groups=found)
        answers = lambda _admin, requests, **_: {  # noqa: E731
            broker: [TimedAnswer(message, 1000) for _ in of] for broker, of in requests.items()
        }
        monkeypatch.setattr(commits, "send_in_turn", answers)
        names = list("abc")[: len(found)]
        return read_commits(None, {1: names, 2: []}, RowNumbers(self.TABLE), clock_ms=int)

    def test_offsets_that_are_not_committed_or_not_in_the_table(self, monkeypatch):
        told = {"t": {0: -1, 2: 5, 3: 7}, "gone": {0: 3}, "u": {0: -1}}
        seen = self.read(monkeypatch, self.group("a", told), self.group("b"))
        assert seen.committed == {"a": {"t": (None, None, 5)}, "b": {}}
        assert seen.at_ms == {"a": 1000, "b": 1000}
        assert seen.problems == []

    def test_a_group_that_never_committed_has_nothing(self, monkeypatch):
        seen = self.read(monkeypatch, self.group("a", code=GONE))
        assert (seen.committed, seen.problems) == ({"a": {}}, [])

    def test_a_partition_and_a_group_that_are_refused(self, monkeypatch):
        told = {"t": {0: (NO_TOPIC,), 1: 4, 2: (NO_TOPIC,)}}
        seen = self.read(monkeypatch, self.group("a", told), self.group("b", code=NO_RIGHT))
        assert seen.committed == {"a": {"t": (None, 4, None)}}
        assert seen.problems == [("commits of group a to t-0", 3), ("commits of group b", 30)]

    def test_a_coordinator_that_is_silent(self, monkeypatch):
        error = KafkaConnectionError("gone")
        seen = self.read(monkeypatch, error)
        assert (seen.committed, seen.problems) == (
            {},
            [("commits of 1 group of broker 1", error)],
        )

    def test_a_broker_that_knows_neither_request(self, monkeypatch):
        error = IncompatibleBrokerVersion("1")
        seen = self.read(monkeypatch, error)
        assert seen.problems == [("commits of 1 group of broker 1", error)]

    def test_a_coordinator_that_has_moved_is_looked_for_again(self, monkeypatch):
        listed = SimpleNamespace(
            error_code=0,
            groups=[SimpleNamespace(group_id="a", protocol_type="consumer", group_type="")],
        )
        described = SimpleNamespace(
            groups=[
                SimpleNamespace(
                    error_code=0,
                    group_id="a",
                    protocol_data="",
                    group_state="Empty",
                    members=[],
                )
            ]
        )
        codes = [NOT_COORDINATOR, 0]

        def send(_admin, requests):
            kinds = {broker: type(each).__name__ for broker, each in requests.items()}
            return {
                b: listed if kind.startswith("List") else described for b, kind in kinds.items()
            }

        def fetch(_admin, requests, **_):
            code = codes.pop(0) if requests else 0
            answer = SimpleNamespace(groups=[self.group("a", {"t": {0: 9}}, code)])
            return {broker: [TimedAnswer(answer, 5)] for broker in requests}

        monkeypatch.setattr(groups, "send_to_each", send)
        monkeypatch.setattr(commits, "send_in_turn", fetch)
        (found,), notes = read_groups(
            None, self.TABLE, (1,), progress=int, commit_clock_ms=lambda: 0
        )
        assert (found.committed, found.committed_at_ms) == ({"t": (9, None, None)}, 5)
        assert (notes, codes) == ((), [])
