"""AlterPartitionReassignments with the flag of version 1, sent once, with a result per partition.

The method of kafka-python has no `allow_replication_factor_change`, reads True as broker 1, and
leaves out partitions that the broker did not answer. Here each requested partition has exactly one
result:

```
accepted    the controller has it in its list, or had nothing to do
refused     name and text of Kafka's error; the partition is unchanged
unknown     not answered, or missing in the answer: read the cluster before anything else
```

The target null cancels (KIP-455); NO_REASSIGNMENT_IN_PROGRESS means that there was none.

Source: KIP-455, KIP-860 (the flag).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import kafka.errors as kafka_errors
from kafka.protocol.admin import AlterPartitionReassignmentsRequest

from rackwise.adapters.kafka.applying.send_once import TIMEOUT_MS, Unanswered, send_once
from rackwise.adapters.kafka.connect import reason
from rackwise.adapters.kafka.permissions import missing_permission
from rackwise.core.errors import ServerRefused
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.connect import Message
    from rackwise.core.model import PartitionId

FLAG_VERSION = 1
"""The first version with the flag."""
CLUSTER_DENIED = 31
_MAY_HAVE_BEEN_DONE = frozenset({-1, 7})
"""Codes of the whole answer that leave the result open: unknown error, time-out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """The result of each requested partition; the three sets are disjoint."""

    accepted: frozenset[PartitionId] = frozenset()
    refused: Mapping[PartitionId, tuple[str, str | None]] = field(default_factory=dict)
    """Partition -> name of Kafka's error, and its text where there is one."""
    unknown: frozenset[PartitionId] = frozenset()


def has_replication_flag(admin: KafkaAdminClient) -> bool:
    """Whether the cluster has the flag that keeps the number of replicas."""
    client: Message = admin
    versions = client._manager.broker_version_data  # noqa: SLF001 (no public door)
    try:
        version: int = versions.api_version(AlterPartitionReassignmentsRequest)
    except kafka_errors.IncompatibleBrokerVersion:
        return False
    return version >= FLAG_VERSION


def alter_reassignments(
    admin: KafkaAdminClient,
    targets: Mapping[PartitionId, Sequence[int] | None],
    *,
    may_change_replication: bool,
) -> RequestOutcome:
    """Start these reassignments, or cancel those whose target is None. Sent once.

    Raises, with nothing written, `MissingPermission`, `Unreachable`, `AuthenticationFailed` or
    `ServerRefused`.
    """
    doing = "reassign partitions"
    request = _request(targets, may_change_replication=may_change_replication)
    answer = send_once(admin, request, doing=doing, top_code=lambda answer: int(answer.error_code))
    if isinstance(answer, Unanswered):
        return RequestOutcome(unknown=frozenset(targets))
    if answer.error_code == CLUSTER_DENIED:
        raise missing_permission("ClusterAuthorizationFailedError", doing=doing, operation="Alter")
    if answer.error_code in _MAY_HAVE_BEEN_DONE:
        return RequestOutcome(unknown=frozenset(targets))
    if answer.error_code:
        raise ServerRefused(
            f"the cluster rejected the request to {doing}: "
            f"{escaped(answer.error_message or reason(answer.error_code))}",
            code=answer.error_code,
            name=reason(answer.error_code),
            had=reason(answer.error_code),
            hint="nothing was moved; fix the cause and run rackwise resume",
        )
    return _outcome_of(targets, answer)


def _request(
    targets: Mapping[PartitionId, Sequence[int] | None], *, may_change_replication: bool
) -> Message:
    of_topic: Message = AlterPartitionReassignmentsRequest.ReassignableTopic
    of_partition = of_topic.ReassignablePartition
    topics: dict[str, list[Message]] = {}
    for (topic, partition), target in sorted(targets.items()):
        replicas = None if target is None else list(target)
        topics.setdefault(topic, []).append(
            of_partition(partition_index=partition, replicas=replicas)
        )
    make: Message = AlterPartitionReassignmentsRequest
    return make(
        timeout_ms=TIMEOUT_MS,
        allow_replication_factor_change=may_change_replication,
        topics=[of_topic(name=name, partitions=rows) for name, rows in topics.items()],
    )


def _outcome_of(asked: Mapping[PartitionId, object], answer: Message) -> RequestOutcome:
    accepted: set[PartitionId] = set()
    refused: dict[PartitionId, tuple[str, str | None]] = {}
    unknown: set[PartitionId] = set(asked)
    for topic in answer.responses:
        for partition in topic.partitions:
            which = (topic.name, partition.partition_index)
            code = partition.error_code
            if which not in unknown or code in _MAY_HAVE_BEEN_DONE:
                continue
            unknown.discard(which)
            if code:
                refused[which] = code_name(code), partition.error_message
            else:
                accepted.add(which)
    return RequestOutcome(accepted=frozenset(accepted), refused=refused, unknown=frozenset(unknown))


def code_name(code: int) -> str:
    """The name of an error code in Kafka.

    >>> code_name(85)
    'NO_REASSIGNMENT_IN_PROGRESS'
    """
    of_code: Message = kafka_errors.for_code
    return str(of_code(code).message)
