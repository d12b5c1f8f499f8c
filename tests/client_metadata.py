"""Cluster metadata in the clients' own objects, and members as the coordinator describes them."""

from __future__ import annotations

from contextlib import closing, contextmanager

from aiokafka.cluster import ClusterMetadata as AiokafkaMetadata
from aiokafka.protocol.metadata import MetadataResponse_v1
from kafka import KafkaConsumer
from kafka.cluster import ClusterMetadata
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka.protocol.metadata import MetadataResponse

from rackwise.core.wire.consumer import decode_assignment, decode_subscription, encode_assignment

VERSION = 9
NOWHERE = "127.0.0.1:1"
BROKERS = {1: "a", 2: "b", 3: "c"}
TOPICS = {"t": [[1, 2], [2, 3], [3, 1]]}


def answer(brokers, topics, in_sync=None):
    """A metadata response: broker -> rack, topic -> partition -> brokers, the leader first.

    `in_sync`: topic -> partition -> brokers; all replicas if it is omitted.
    """
    topic = MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition
    made = MetadataResponse(
        version=VERSION,
        brokers=[
            MetadataResponse.MetadataResponseBroker(node_id=each, host="h", port=1, rack=rack)
            for each, rack in brokers.items()
        ],
        controller_id=min(brokers),
        cluster_id="c",
        topics=[
            topic(
                error_code=0,
                name=name,
                is_internal=False,
                partitions=[
                    partition(
                        error_code=0,
                        partition_index=number,
                        leader_id=replicas[0],
                        leader_epoch=1,
                        replica_nodes=sorted(replicas),
                        isr_nodes=sorted((in_sync or topics)[name][number]),
                        offline_replicas=[],
                    )
                    for number, replicas in enumerate(partitions)
                ],
            )
            for name, partitions in topics.items()
        ],
    )
    return MetadataResponse.decode(made.encode(version=VERSION), version=VERSION)


def metadata(brokers, topics, in_sync=None):
    """kafka-python's view of a cluster."""
    made = ClusterMetadata()
    made.update_metadata(answer(brokers, topics, in_sync))
    return made


def aiokafka_metadata(brokers, topics, in_sync=None):
    """aiokafka's view of a cluster."""
    made = AiokafkaMetadata()
    made.update_metadata(aiokafka_answer(brokers, topics, in_sync))
    return made


def aiokafka_answer(brokers, topics, in_sync=None):
    return MetadataResponse_v1(
        [(each, "h", 1, rack) for each, rack in brokers.items()],
        min(brokers),
        [
            (
                0,
                name,
                False,
                [
                    (
                        0,
                        number,
                        replicas[0],
                        sorted(replicas),
                        sorted((in_sync or topics)[name][number]),
                    )
                    for number, replicas in enumerate(partitions)
                ],
            )
            for name, partitions in topics.items()
        ],
    )


def joined(member_id, data, instance_id=None):
    """A member as kafka-python's coordinator passes it to the assignor."""
    return JoinGroupResponse.JoinGroupResponseMember(
        member_id=member_id,
        group_instance_id=instance_id,
        metadata=ConsumerProtocolSubscription.decode(data),
    )


def given(partitions):
    """A member's assignment as kafka-python passes it to the assignor."""
    return ConsumerProtocolAssignment.decode(encode_assignment(3, partitions))


@contextmanager
def consumer(*assignors, **configs):
    """A consumer of kafka-python that connects to no broker."""
    made = KafkaConsumer(
        "t",
        bootstrap_servers=NOWHERE,
        api_version=(3, 9),
        group_id="g",
        partition_assignment_strategy=list(assignors) or [RangePartitionAssignor],
        **configs,
    )
    with closing(made):
        yield made


def read(answers):
    """Member -> partitions, from an assignor's answer."""
    return {member: decode_assignment(data).partitions for member, data in answers.items()}


def said(assignor, topics=("t",)):
    """The text that an assignor sends to its group."""
    return decode_subscription(assignor.metadata(set(topics)))


def lead(assignor, *others, brokers=BROKERS, topics=TOPICS):
    """One round in which the assignor leads as `m0`; the other members are given by id."""
    members = [joined("m0", assignor.metadata({"t"}))]
    members += [joined(f"m{i}", data) for i, data in enumerate(others, 1)]
    return read(assignor.assign(metadata(brokers, topics), members))
