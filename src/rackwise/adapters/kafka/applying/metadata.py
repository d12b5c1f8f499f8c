"""The metadata that the partitions of a plan have on the cluster, read from chosen brokers.

```
rows        Metadata of the plan's topics        topic id, replica list, leader, in-sync replicas
running     ListPartitionReassignments           from the controller, which knows first
brokers     DescribeCluster                      racks, fenced or not
logs        DescribeLogDirs of the brokers       bytes of each replica, folders, free disk space
```

The metadata of a broker may be old: a broker that was paused has an old state until the others
fence it. Rows are therefore read from two brokers where there are two, and a partition on which
they differ is kept apart.

Source: KIP-516 (topic ids), KIP-455, KIP-1073 (fenced brokers), KIP-827 (free disk).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka.protocol.metadata import MetadataRequest

from rackwise.adapters.kafka.connect import ask, reason, send, send_to_each
from rackwise.adapters.kafka.logs.sizes import log_dirs_of, log_dirs_request, log_sizes
from rackwise.adapters.kafka.permissions import missing_permission
from rackwise.adapters.kafka.topics import Reassignment, read_reassignments, topic_id_text
from rackwise.core.errors import Unreachable
from rackwise.core.model import UNKNOWN
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.connect import Message
    from rackwise.adapters.kafka.logs.sizes import WantedLogs
    from rackwise.core.model import LogDir, PartitionId

_DENIED = 29
_NO_TOPIC = frozenset({3, 17})
"""Unknown topic, and a name that no topic can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow:
    """One partition as a broker shows it."""

    topic_id: str | None
    replicas: tuple[int, ...]
    """The list, with the replicas that a reassignment adds."""
    leader: int | None
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRows:
    """All partitions of the requested topics."""

    rows: Mapping[PartitionId, PartitionRow] = field(default_factory=dict)
    """Partitions on which the brokers agree."""
    unsure: Mapping[PartitionId, PartitionRow] = field(default_factory=dict)
    """The answer of one broker where they differ."""
    gone: frozenset[str] = frozenset()
    """Topics that no broker has."""
    blank: frozenset[str] = frozenset()
    """Topics whose partitions no broker shows yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLogs:
    """Logs and log folders of brokers."""

    bytes: Mapping[PartitionId, Mapping[int, int]] = field(default_factory=dict)
    """(topic, partition) -> broker -> size of its log."""
    log_dirs: Mapping[int, tuple[LogDir, ...]] = field(default_factory=dict)
    """Broker -> its log folders."""
    silent: Mapping[int, str] = field(default_factory=dict)
    """Broker that did not answer -> reason."""


def read_rows(
    admin: KafkaAdminClient, topics: Collection[str], *, brokers: Sequence[int] = ()
) -> PartitionRows:
    """The partitions of these topics, as two of `brokers` show them; or any one broker.

    Raises `MissingPermission` where a topic may not be described, and what `ask` raises.
    """
    doing = "describe topics"
    requests = {broker: _request(topics) for broker in list(brokers)[:2]}
    by_broker = ask(admin, lambda: send_to_each(admin, requests), doing=doing) if requests else {}
    answers = [answer for answer in by_broker.values() if not isinstance(answer, Exception)]
    if not answers:
        answers = [ask(admin, lambda: send(admin, _request(topics)), doing=doing)]
    views = [_view(answer) for answer in answers]
    return _agreed(views, topics)


def read_replica_logs(
    admin: KafkaAdminClient, brokers: Collection[int], logs: WantedLogs
) -> ReplicaLogs:
    """Log folders of these brokers and the sizes of `logs` in them, read in parallel."""
    requests = {broker: log_dirs_request(logs) for broker in brokers}
    answers = ask(admin, lambda: send_to_each(admin, requests), doing="describe log folders")
    sizes: dict[PartitionId, dict[int, int]] = {}
    log_dirs: dict[int, tuple[LogDir, ...]] = {}
    silent: dict[int, str] = {}
    for broker, answer in sorted(answers.items()):
        if isinstance(answer, Exception):
            silent[broker] = reason(answer)
            continue
        if answer.error_code:
            silent[broker] = reason(answer.error_code)
            continue
        log_dirs[broker] = log_dirs_of(answer)
        for topic, partition, size in log_sizes(answer):
            sizes.setdefault((topic, partition), {})[broker] = size
    return ReplicaLogs(bytes=sizes, log_dirs=log_dirs, silent=silent)


def read_running_reassignments(admin: KafkaAdminClient) -> dict[PartitionId, Reassignment]:
    """(topic, partition) -> its running reassignment, from the controller.

    Raises `Unreachable` where no broker is the controller, and what `ask` raises.
    """
    try:
        return read_reassignments(admin)
    except RuntimeError as error:
        raise Unreachable(
            f"cannot find the controller, which lists reassignments: {error}",
            wanted="the controller",
            had=type(error).__name__,
            hint="check that the controllers run",
        ) from None


def _request(topics: Collection[str]) -> Message:
    of_topic: Message = MetadataRequest.MetadataRequestTopic
    make: Message = MetadataRequest
    return make(
        topics=[of_topic(name=name) for name in sorted(topics)],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def _view(answer: Message) -> dict[str, dict[int, PartitionRow] | None]:
    """Topic -> partition -> row; None for a topic that does not exist."""
    found: dict[str, dict[int, PartitionRow] | None] = {}
    for topic in answer.topics:
        if topic.error_code == _DENIED:
            raise missing_permission(
                "TopicAuthorizationFailedError", doing=f"describe topic {escaped(topic.name)}"
            )
        if topic.error_code:
            found[topic.name] = None if topic.error_code in _NO_TOPIC else {}
            continue
        id_text = topic_id_text(topic.topic_id)
        found[topic.name] = {
            each.partition_index: PartitionRow(
                topic_id=id_text,
                replicas=tuple(each.replica_nodes),
                leader=each.leader_id if each.leader_id != UNKNOWN else None,
                isr=tuple(each.isr_nodes),
            )
            for each in topic.partitions
        }
    return found


def _agreed(
    views: Sequence[Mapping[str, Mapping[int, PartitionRow] | None]], topics: Collection[str]
) -> PartitionRows:
    rows: dict[PartitionId, PartitionRow] = {}
    unsure: dict[PartitionId, PartitionRow] = {}
    gone: set[str] = set()
    blank: set[str] = set()
    for name in topics:
        of_topic = [view.get(name) for view in views]
        if all(each is None for each in of_topic):
            gone.add(name)
            continue
        numbers = sorted({number for each in of_topic if each for number in each})
        if not numbers:
            blank.add(name)
        for number in numbers:
            shown = [each.get(number) if each else None for each in of_topic]
            known = [row for row in shown if row is not None]
            chosen = rows if known == [known[0]] * len(shown) else unsure
            chosen[name, number] = known[0]
    return PartitionRows(rows=rows, unsure=unsure, gone=frozenset(gone), blank=frozenset(blank))
