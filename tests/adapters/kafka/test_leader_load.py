"""The write load of leaders: what its errors show of a topic name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from kafka.errors import InvalidTopicError

from rackwise.adapters.kafka.leader_load import leader_rack_load
from rackwise.core.errors import ServerRefused

LED = [{"partitions": [{"partition_index": 0, "leader_id": 1}]}]


def rejected(_request):
    raise InvalidTopicError


@pytest.mark.parametrize(
    ("describe", "doing"),
    [(rejected, "describe b"), (lambda _: LED, "list the offsets of b")],
)
def test_a_topic_name_is_escaped_in_the_error(describe, doing):
    admin = SimpleNamespace(
        describe_cluster=lambda: {"brokers": [{"broker_id": 1, "rack": "a"}]},
        describe_topics=describe,
        list_partition_offsets=rejected,
    )
    load = leader_rack_load(admin, "b\x1b[31m\n", record_bytes=100)
    with pytest.raises(ServerRefused) as caught:
        load(0.0)
    assert doing in caught.value.message
    assert caught.value.message.isprintable()
