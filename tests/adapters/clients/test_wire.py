"""kafka-python's own codec and ours write and read the same bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

from group_messages import PARTITIONS, SUBSCRIPTIONS
from rackwise.core.wire.consumer import encode_assignment, encode_subscription


@given(SUBSCRIPTIONS.filter(lambda each: all(each.topics)))
def test_kafka_python_writes_the_same_bytes(subscription):
    owned = {}
    for topic, partition in subscription.owned:
        owned.setdefault(topic, []).append(partition)
    partitions = ConsumerProtocolSubscription.TopicPartition
    theirs = ConsumerProtocolSubscription(
        version=subscription.version,
        topics=list(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=[partitions(topic=t, partitions=p) for t, p in owned.items()],
        generation_id=subscription.generation,
        rack_id=subscription.rack,
    )
    assert theirs.encode() == encode_subscription(subscription)


@given(st.integers(0, 3), PARTITIONS, st.none() | st.binary(max_size=4))
def test_kafka_python_reads_the_same(version, partitions, user_data):
    data = encode_assignment(version, partitions, user_data)
    theirs = ConsumerProtocolAssignment.decode(data)
    assert (theirs.version, theirs.user_data) == (version, user_data)
    assert tuple(theirs.partitions()) == partitions
