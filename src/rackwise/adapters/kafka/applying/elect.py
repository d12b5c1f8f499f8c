"""Preferred leader elections, sent once.

ELECTION_NOT_NEEDED means that the preferred replica leads already, so it counts as success. A
partition whose first replica is not in sync cannot elect it (PREFERRED_LEADER_NOT_AVAILABLE) and
keeps its leader.

Source: KIP-183, KIP-460 (ElectLeaders).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.protocol.admin import ElectLeadersRequest

from rackwise.adapters.kafka.applying.reassign import CLUSTER_DENIED, RequestOutcome, code_name
from rackwise.adapters.kafka.applying.send_once import TIMEOUT_MS, Unanswered, send_once
from rackwise.adapters.kafka.permissions import missing_permission

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.connect import Message
    from rackwise.core.model import PartitionId

PREFERRED = 0
NOT_NEEDED = 84
_FIRST_WITH_TOP_CODE = 1


def elect_preferred(admin: KafkaAdminClient, wanted: Collection[PartitionId]) -> RequestOutcome:
    """Request the first replica of each partition as its leader.

    Raises, with nothing written, `MissingPermission`, `Unreachable`, `AuthenticationFailed` or
    `ServerRefused`.
    """
    doing = "elect leaders"
    answer = send_once(admin, _request(wanted), doing=doing, top_code=_top_code)
    if isinstance(answer, Unanswered):
        return RequestOutcome(unknown=frozenset(wanted))
    if _top_code(answer) == CLUSTER_DENIED:
        raise missing_permission("ClusterAuthorizationFailedError", doing=doing, operation="Alter")
    if _top_code(answer):
        return RequestOutcome(unknown=frozenset(wanted))
    accepted: set[PartitionId] = set()
    refused: dict[PartitionId, tuple[str, str | None]] = {}
    for topic in answer.replica_election_results:
        for partition in topic.partition_result:
            which = (topic.topic, partition.partition_id)
            if partition.error_code in {0, NOT_NEEDED}:
                accepted.add(which)
            else:
                refused[which] = code_name(partition.error_code), partition.error_message
    return RequestOutcome(
        accepted=frozenset(accepted & {*wanted}),
        refused={each: why for each, why in refused.items() if each in wanted},
        unknown=frozenset({*wanted} - accepted - {*refused}),
    )


def _request(wanted: Collection[PartitionId]) -> Message:
    of_topic: Message = ElectLeadersRequest.TopicPartitions
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(wanted):
        topics.setdefault(topic, []).append(partition)
    make: Message = ElectLeadersRequest
    return make(
        election_type=PREFERRED,
        topic_partitions=[of_topic(topic=name, partitions=rows) for name, rows in topics.items()],
        timeout_ms=TIMEOUT_MS,
    )


def _top_code(answer: Message) -> int:
    return int(answer.error_code) if answer.API_VERSION >= _FIRST_WITH_TOP_CODE else 0
