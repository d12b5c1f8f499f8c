"""Groups of the consumer protocol (KIP-848), and answers that are no consumer groups."""

from __future__ import annotations

import socket
import struct
from contextlib import closing
from types import SimpleNamespace

import pytest
from kafka.errors import RetriableError
from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from assignments import tps
from kafka_traffic import create, until
from rackwise.adapters.kafka import connect, groups, read_cluster
from rackwise.adapters.kafka.connect import send
from rackwise.adapters.kafka.groups import (
    _by_protocol,
    _classic,
    _consumer,
    _KnownPartitions,
    _streams,
    address_of,
    read_groups,
)
from rackwise.core.model import Group, GroupMember, Partition, PartitionTable
from rackwise.core.racks import Rack
from rackwise.core.wire.consumer import (
    Subscription,
    encode_assignment,
    encode_blob,
    encode_subscription,
)


def compact(text):
    """A string of the flexible versions; None is null."""
    return b"\x00" if text is None else bytes([len(text) + 1]) + text.encode()


def join(address, *, group, topic, client_id, rack):
    """Become a member with ConsumerGroupHeartbeat v0, which kafka-python does not speak."""
    header = struct.pack(">hhih", 68, 0, 1, len(client_id)) + client_id.encode() + b"\x00"
    body = (
        compact(group)
        + compact("")  # the coordinator names the member
        + struct.pack(">i", 0)  # epoch 0: join
        + compact(None)
        + compact(rack)
        + struct.pack(">i", 60_000)
        + b"\x02"
        + compact(topic)
        + compact(None)
        + b"\x01\x00"  # it owns nothing; no tagged fields
    )
    with socket.create_connection(address, 10) as connection:
        connection.sendall(struct.pack(">i", len(header + body)) + header + body)
        answer = connection.recv(65536)
    (code,) = struct.unpack_from(">h", answer, 13)
    return code


def has_coordinator(admin, group):
    """Whether it has one; to ask makes the topic of offsets."""
    try:
        admin.list_group_offsets({group: None})
    except RetriableError:
        return False
    return True


@pytest.mark.kafka
def test_a_member_of_the_consumer_protocol_is_seen_with_its_rack(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, "modern", [[0, 1], [1, 2]])
        who = {"group": "new", "topic": "modern", "client_id": "app-9", "rack": "c"}
        until(lambda: has_coordinator(admin, "new"), "a coordinator")
        addresses = [(broker.host, broker.port) for broker in kraft_cluster.brokers]
        until(lambda: any(join(each, **who) == 0 for each in addresses), "to be let in")

        def group():
            seen = read_cluster(admin, taken_at="", topics=("modern",), groups=True)
            assert not [note for note in seen.notes if "group" in note.text]
            return next(each for each in seen.groups if each.group == "new")

        until(lambda: any(member.partitions for member in group().members), "an assignment")
        (member,) = group().members
        assert group().protocol == "consumer"
        assert (member.client_id, member.address, member.rack) == ("app-9", "127.0.0.1", Rack("c"))
        assert member.partitions == (("modern", 0), ("modern", 1))
        assert (member.topics, member.instance_id) == (("modern",), None)
        assert member.generation > 0
        assert (group().assignor, group().state) == ("uniform", "Stable")
        admin.delete_topics(["modern"])


@pytest.mark.kafka
@pytest.mark.long
def test_coordinators_that_just_start_are_waited_for(make_kraft):
    anybody = FindCoordinatorRequest(key="anybody", key_type=0, coordinator_keys=["anybody"])
    with closing(connect(make_kraft(brokers=2).bootstrap)) as admin:
        send(admin, anybody)  # makes the topic of offsets; its coordinators load by and by

        def is_loaded():
            assert read_cluster(admin, taken_at="", sizes=False, groups=True).notes == ()
            return not send(admin, anybody).coordinators[0].error_code

        until(is_loaded, "a coordinator")


def described(group, assignor, state, members, error_code=0):
    """A group as DescribeGroups answers."""
    return SimpleNamespace(
        group_id=group,
        protocol_data=assignor,
        group_state=state,
        members=members,
        error_code=error_code,
    )


def test_only_consumers_are_asked_for():
    listed = [
        SimpleNamespace(group_id=name, protocol_type=kind, group_type=protocol)
        for name, kind, protocol in (
            ("b", "consumer", "classic"),
            ("a", "consumer", ""),
            ("c", "", "Consumer"),
            ("d", "connect", "classic"),
            ("e", "share", "Share"),
            ("f", "streams", "Streams"),
            ("g", "", "of a later Kafka"),
        )
    ]
    assert _by_protocol(listed) == {
        "classic": ["a", "b"],
        "consumer": ["c"],
        "share": ["e"],
        "streams": ["f"],
    }


def test_what_cannot_be_decoded_is_not_known():
    table = PartitionTable.of([Partition(topic="t", partition=0, replicas=(1,))])
    member = {
        "member_id": "m",
        "client_id": "c",
        "client_host": "unknown",
        "group_instance_id": "",
    }
    garbage = (b"", None, b"\x00", b"\x00\x01", b"\x00\x00\xff\xff\xff\xff", b"\x7f" * 20)
    members = [
        SimpleNamespace(**member, member_metadata=each, member_assignment=each) for each in garbage
    ]
    found = _classic(described("g", "", "PreparingRebalance", members), _KnownPartitions(table))
    assert {
        (each.address, each.rack, each.topics, each.instance_id, each.generation, each.partitions)
        for each in found.members
    } == {(None, None, None, None, None, ())}
    assert (found.assignor, found.state) == (None, "PreparingRebalance")


def test_what_a_member_of_the_classic_protocol_says():
    told = Subscription(topics=("t", "a", "t"), generation=7, rack="b")
    member = SimpleNamespace(
        member_id="m",
        client_id="c",
        client_host="/10.0.0.1",
        group_instance_id="static-1",
        member_metadata=encode_subscription(told),
        member_assignment=b"",
    )
    table = PartitionTable.of([])
    found = _classic(described("g", "range", "Stable", [member]), _KnownPartitions(table))
    assert (found.assignor, found.state) == ("range", "Stable")
    assert found.members == (
        GroupMember(
            member_id="m",
            client_id="c",
            address="10.0.0.1",
            rack=Rack("b"),
            instance_id="static-1",
            topics=("a", "t"),
        ),
    )


def test_the_partitions_of_a_streams_member_are_those_of_its_active_tasks():
    """KIP-1071: a task is a partition number of each source topic of its subtopology."""
    table = PartitionTable.of(
        [Partition(topic=topic, partition=n, replicas=(1,)) for topic in "tur" for n in (0, 1)]
    )
    task = SimpleNamespace(subtopology_id="1", partitions=[0, 1])
    later = SimpleNamespace(subtopology_id="not known", partitions=[0])
    member = SimpleNamespace(
        member_id="m",
        client_id="c",
        client_host="",
        rack_id="a",
        instance_id=None,
        member_epoch=3,
        assignment=SimpleNamespace(active_tasks=[task, later], standby_tasks=[later]),
    )
    parts = [
        SimpleNamespace(subtopology_id="0", source_topics=["u"], repartition_source_topics=[]),
        SimpleNamespace(
            subtopology_id="1",
            source_topics=["t"],
            repartition_source_topics=[SimpleNamespace(name="r")],
        ),
    ]
    for topology, topics, count in (
        (SimpleNamespace(subtopologies=parts), ("r", "t", "u"), 4),
        (SimpleNamespace(subtopologies=None), None, 0),
        (None, None, 0),
    ):
        shown = SimpleNamespace(
            group_id="g", group_state="Stable", topology=topology, members=[member]
        )
        found = _streams(shown, _KnownPartitions(table))
        assert (found.protocol, found.assignor) == ("streams", None)
        assert (found.members[0].topics, len(found.members[0].partitions)) == (topics, count)


@pytest.mark.parametrize(("epoch", "generation"), [(5, 5), (0, 0), (-1, -1), (-2, -1)])
def test_a_static_member_that_is_away_leaves_a_snapshot_that_can_be_read(epoch, generation):
    """KIP-848: its epoch is -2 until it comes back or its session ends."""
    member = SimpleNamespace(
        member_id="m",
        client_id="c",
        client_host="",
        rack_id="a",
        instance_id="pod-0",
        subscribed_topic_names=["t"],
        subscribed_topic_regex=None,
        member_epoch=epoch,
        assignment=SimpleNamespace(topic_partitions=[]),
    )
    shown = SimpleNamespace(
        group_id="g", assignor_name="range", group_state="Stable", members=[member]
    )
    (found,) = _consumer(shown, _KnownPartitions(PartitionTable.of([]))).members
    assert found.generation == generation


def test_a_rack_that_our_plug_in_adds_to_the_user_data():
    blob = encode_blob("b", None, -1, ())
    for user_data, rack in ((blob, Rack("b")), (blob[:5], None), (b"", None), (None, None)):
        told = Subscription(version=0, topics=("t",), user_data=user_data)
        member = SimpleNamespace(
            member_id="m",
            client_id="c",
            client_host="",
            group_instance_id=None,
            member_metadata=encode_subscription(told),
            member_assignment=encode_assignment(0, tps("t-0 t-7")),
        )
        table = PartitionTable.of([Partition(topic="t", partition=0, replicas=(1,))])
        (found,) = _classic(
            described("g", "range", "Stable", [member]), _KnownPartitions(table)
        ).members
        assert (found.rack, found.topics, found.partitions) == (rack, ("t",), (("t", 0),))


class TestCoordinatorsThatMove:
    """A coordinator that loads answers in a moment, and so does the one that takes over."""

    def read(self, monkeypatch, codes):
        """What is read when listing, then describing, gives these codes, one a reading."""
        asked = []

        def send(_admin, requests):
            if not requests:
                return {}
            asked.append(requests)
            (request,) = requests.values()
            if type(request) is ListGroupsRequest:
                code = codes["list"].pop(0)
                kind = {"protocol_type": "consumer", "group_type": "classic"}
                listed = [SimpleNamespace(group_id="g", **kind)]
                return {1: SimpleNamespace(error_code=code, groups=[] if code else listed)}
            code = codes["describe"].pop(0)
            return {1: SimpleNamespace(groups=[described("g", "range", "Stable", [], code)])}

        monkeypatch.setattr(groups, "send_to_each", send)
        counts = []
        found = read_groups(None, PartitionTable.of([]), (1,), progress=counts.append)
        assert sum(counts) <= 2
        return [each.group for each in found[0]], [note.text for note in found[1]], len(asked)

    @pytest.mark.parametrize("code", [14, 15, 16])
    def test_they_are_asked_again(self, monkeypatch, code):
        codes = {"list": [code, 0, 0], "describe": [code, 0]}
        assert self.read(monkeypatch, codes) == (["g"], [], 5)

    def test_what_remains_is_noted(self, monkeypatch):
        monkeypatch.setattr(groups, "ANSWER_S", 0)
        codes = {"list": [14], "describe": []}
        assert self.read(monkeypatch, codes) == (
            [],
            ["groups of broker 1: CoordinatorLoadInProgress"],
            1,
        )

    def test_a_group_that_two_brokers_describe_is_read_again_and_told_once(self):
        seen = groups._GroupReading()
        member = GroupMember(member_id="m", client_id="c")
        for members in ((), (member,), ()):
            seen.add_group(Group(group="g", protocol="classic", members=members))
        assert seen.is_transient
        assert [each.members for each in seen.groups.values()] == [(member,)]

    def test_another_problem_is_noted_at_once(self, monkeypatch):
        codes = {"list": [0], "describe": [30]}
        assert self.read(monkeypatch, codes) == ([], ["group g: GroupAuthorizationFailed"], 2)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("/10.0.1.7", "10.0.1.7"),
        ("app-1.internal/10.0.1.7", "10.0.1.7"),
        ("/2001:db8:0:0:0:0:0:1", "2001:db8::1"),
        ("/fe80:0:0:0:0:0:0:1%eth0", "fe80::1"),
        ("", None),
        ("app-1.internal", None),
    ],
)
def test_addresses_are_taken_from_javas_text(host, address):
    assert address_of(host) == address
