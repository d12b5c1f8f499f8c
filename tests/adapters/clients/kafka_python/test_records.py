"""Records between two offsets, on real brokers."""

from __future__ import annotations

import re
from base64 import b64decode
from contextlib import closing
from uuid import UUID

import pytest

from kafka_traffic import create, delete, described_topic, producer
from rackwise.adapters.clients.kafka_python.records import Reach, ends, records, topic_id
from rackwise.adapters.kafka import connect
from rackwise.core.errors import InvalidConfig, ServerRefused

pytestmark = pytest.mark.kafka

TOPIC = "read-between"


@pytest.fixture
def reach(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, TOPIC, [[0, 1], [1, 2]])
        with producer(kraft_cluster.bootstrap) as sender:
            for number in range(5):
                sender.send(TOPIC, b"%d" % number, key=b"k", partition=1)
        yield Reach(bootstrap=kraft_cluster.bootstrap)
        delete(admin, TOPIC)


def test_a_partition_is_read_from_one_offset_up_to_another(reach):
    assert ends(reach, TOPIC) == {0: (0, 0), 1: (0, 5)}
    found = [each for some in records(reach, TOPIC, 1, 1, 4) for each in some]
    assert [(each.offset, each.key, each.value) for each in found] == [
        (1, b"k", b"1"),
        (2, b"k", b"2"),
        (3, b"k", b"3"),
    ]
    assert list(records(reach, TOPIC, 1, 4, 4)) == []


def test_a_topic_that_is_created_again_has_another_id(reach):
    first = topic_id(reach, TOPIC)
    assert topic_id(reach, TOPIC) == first
    assert re.fullmatch("[0-9a-f]{32}", first)
    with closing(connect(reach.bootstrap)) as admin:
        delete(admin, TOPIC)
        create(admin, TOPIC, [[0, 1], [1, 2]])
        found = described_topic(admin, TOPIC).id
    assert topic_id(reach, TOPIC) == UUID(bytes=b64decode(f"{found}==", altchars=b"-_")).hex
    assert topic_id(reach, TOPIC) != first


def test_an_offset_that_is_not_there_is_told(reach):
    with pytest.raises(ServerRefused) as refused:
        list(records(reach, TOPIC, 1, 90, 95))
    assert (refused.value.name, refused.value.where) == ("OFFSET_OUT_OF_RANGE", f"{TOPIC}-1")


def test_a_topic_that_is_not_there_is_told_and_not_made(reach):
    with pytest.raises(InvalidConfig, match="is not in the cluster"):
        ends(reach, "not-there")
    with closing(connect(reach.bootstrap)) as admin:
        assert "not-there" not in admin.list_topics()
