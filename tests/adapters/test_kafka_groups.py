"""Groups of the consumer protocol (KIP-848), and what a coordinator may say that is no consumer."""

from __future__ import annotations

import socket
import struct
from contextlib import closing
from types import SimpleNamespace

import pytest
from kafka.errors import RetriableError
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_traffic import create, until
from rackwise.adapters.kafka import connect, read_cluster
from rackwise.adapters.kafka.connect import send
from rackwise.adapters.kafka.groups import _by_protocol, _classic, _Known, address_of
from rackwise.core.model import Partition, PartitionTable
from rackwise.core.racks import Rack


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
        admin.delete_topics(["modern"])


@pytest.mark.kafka
def test_coordinators_that_just_start_are_waited_for(make_kraft):
    anybody = FindCoordinatorRequest(key="anybody", key_type=0, coordinator_keys=["anybody"])
    with closing(connect(make_kraft(brokers=2).bootstrap)) as admin:
        send(admin, anybody)  # makes the topic of offsets; its coordinators load by and by

        def is_loaded():
            assert read_cluster(admin, taken_at="", sizes=False, groups=True).notes == ()
            return not send(admin, anybody).coordinators[0].error_code

        until(is_loaded, "a coordinator")


def test_only_consumers_are_asked_for():
    listed = [
        SimpleNamespace(group_id=name, protocol_type=kind, group_type=protocol)
        for name, kind, protocol in (
            ("b", "consumer", "classic"),
            ("a", "consumer", ""),
            ("c", "", "Consumer"),
            ("d", "connect", "classic"),
            ("e", "share", "share"),
        )
    ]
    assert _by_protocol(listed) == {"classic": ["a", "b"], "consumer": ["c"]}


def test_what_cannot_be_decoded_is_not_known():
    table = PartitionTable.of([Partition(topic="t", partition=0, replicas=(1,))])
    member = {"member_id": "m", "client_id": "c", "client_host": "unknown"}
    garbage = (b"", None, b"\x00", b"\x00\x01", b"\x00\x00\xff\xff\xff\xff", b"\x7f" * 20)
    members = [
        SimpleNamespace(**member, member_metadata=each, member_assignment=each) for each in garbage
    ]
    found = _classic(SimpleNamespace(group_id="g", members=members), _Known(table))
    assert {(each.address, each.rack, each.partitions) for each in found.members} == {
        (None, None, ())
    }


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
