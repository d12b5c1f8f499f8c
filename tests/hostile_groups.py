"""Members of real groups whose every name is hostile text, in each protocol of groups.

Kafka takes any text in UTF-8 for the names of groups, clients, members, instances and racks. A
classic member also writes bytes that no broker reads: its subscription and the assignment.

Members join once and send no heartbeat: the cluster needs `SESSIONS`.
"""

from __future__ import annotations

from contextlib import closing

from kafka.admin import KafkaAdminClient
from kafka.protocol.consumer import JoinGroupRequest, SyncGroupRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from hostile_text import HOSTILE
from kafka_messages import (
    ConsumerGroupHeartbeatRequest,
    ShareGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequest,
)
from kafka_traffic import until
from rackwise.adapters.kafka.connect import connect_as, send, send_to_each
from rackwise.adapters.sandbox.blueprint import new_uuid
from rackwise.core.assignors.members import TopicPartition
from rackwise.core.wire.consumer import (
    Subscription,
    encode_assignment,
    encode_blob,
    encode_subscription,
)

SESSION_MS = 1_800_000
"""The longest session that brokers allow classic members by default."""
SESSIONS = {
    f"group.{protocol}.{limit}session.timeout.ms": str(SESSION_MS)
    for protocol in ("consumer", "share", "streams")
    for limit in ("max.", "")
}
"""Settings of brokers with which a member of any protocol needs no heartbeat during a test."""
LONG = "x" + "\x1b" * 29_000
"""A name that Kafka still takes; escaped it has four times as many characters."""
SPACED = "x" + " \x1b" * 14_500
"""The same without a long word."""
ELSEWHERE = {14, 15, 16}
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""
Topology = StreamsGroupHeartbeatRequest.Topology


def join_all(bootstrap, topic):
    """Groups of each protocol by hostile clients; classic groups have three kinds of names."""
    for text in (HOSTILE, LONG, SPACED):
        with closing(opened(bootstrap, text)) as admin:
            told = Subscription(topics=(topic, f"{text}t"), rack=text, user_data=b"\xff")
            join_classic(admin, text, encode_subscription(told), assigned(topic, f"{text}t"))
    with closing(opened(bootstrap, HOSTILE)) as admin:
        for number, data in enumerate((b"\xff\xff", b"\x00\x03\x00\x00\x00\x01\x00\x02\xff\xfe")):
            join_classic(admin, f"{HOSTILE}{number}", data, data)
        blob = encode_blob(HOSTILE, HOSTILE, 1, ())
        told = Subscription(version=1, topics=(topic,), user_data=blob)
        join_classic(admin, f"{HOSTILE}blob", encode_subscription(told), assigned(topic))
        for join in (join_consumer, join_share, join_streams):
            join(admin, f"{HOSTILE}{join.__name__}", HOSTILE, topic)


def assigned(*topics):
    return encode_assignment(0, [TopicPartition(topic, 0) for topic in topics])


def opened(bootstrap, client_id):
    """An admin client of this client id."""

    def client(**config):
        return KafkaAdminClient(**{**config, "client_id": client_id})

    return connect_as(client, bootstrap)


def coordinated(admin, request):
    """The answer of the broker that coordinates the group, once there is one."""
    found = []

    def is_answered():
        # The first client that asks for a coordinator makes the topic of offsets.
        send(admin, FindCoordinatorRequest(key="g", key_type=0, coordinator_keys=["g"]))
        live = [broker.node_id for broker in admin._manager.cluster.brokers()]
        for answer in send_to_each(admin, dict.fromkeys(live, request)).values():
            if isinstance(answer, Exception):
                raise answer
            if answer.error_code not in ELSEWHERE:
                found.append(answer)
        return bool(found)

    until(is_answered, "a coordinator")
    (answer,) = found
    return answer


def join_classic(admin, text, subscription, assignment):
    """The group of this name, with one static member that leads it and assigns itself."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name=text, metadata=subscription)
    static = {"group_id": text, "group_instance_id": text}
    joined = coordinated(
        admin,
        JoinGroupRequest(
            **static,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            member_id="",
            protocol_type="consumer",
            protocols=[protocol],
            reason=text,
            min_version=5,
        ),
    )
    assert not joined.error_code, joined
    of_member = SyncGroupRequest.SyncGroupRequestAssignment
    synced = coordinated(
        admin,
        SyncGroupRequest(
            **static,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name=joined.protocol_name,
            assignments=[of_member(member_id=joined.member_id, assignment=assignment)],
        ),
    )
    assert not synced.error_code, synced


def join_consumer(admin, group, text, topic):
    """A member of the consumer protocol (KIP-848); `text`: its id, its instance and its rack."""
    joined = coordinated(
        admin,
        ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=text,
            member_epoch=0,
            instance_id=text,
            rack_id=text,
            rebalance_timeout_ms=SESSION_MS,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        ),
    )
    assert not joined.error_code, joined


def join_share(admin, group, text, topic):
    """A member of a share group (KIP-932); `text`: its rack."""
    joined = coordinated(
        admin,
        ShareGroupHeartbeatRequest(
            group_id=group,
            member_id=new_uuid(),
            member_epoch=0,
            rack_id=text,
            subscribed_topic_names=[topic],
        ),
    )
    assert not joined.error_code, joined


def join_streams(admin, group, text, topic):
    """A member of a streams group (KIP-1071); `text`: its id, its process and its rack."""
    subtopology = Topology.Subtopology(
        subtopology_id=text,
        source_topics=[topic],
        source_topic_regex=[],
        state_changelog_topics=[],
        repartition_sink_topics=[],
        repartition_source_topics=[],
        copartition_groups=[],
    )
    joined = coordinated(
        admin,
        StreamsGroupHeartbeatRequest(
            group_id=group,
            member_id=text,
            member_epoch=0,
            endpoint_information_epoch=0,
            rack_id=text,
            rebalance_timeout_ms=SESSION_MS,
            topology=Topology(epoch=0, subtopologies=[subtopology]),
            process_id=text,
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            client_tags=[],
        ),
    )
    assert not joined.error_code, joined
