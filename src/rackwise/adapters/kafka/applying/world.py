"""The running cluster behind the steps of a run: executes each request, returns the observation.

```
Look           reassignments, metadata of two brokers, reassignments again; brokers; logs
ReadThrottles  DescribeConfigs of topics, and of each broker at that broker
SetThrottles   IncrementalAlterConfigs, sent once
Alter          AlterPartitionReassignments, sent once, at most one batch
Elect          ElectLeaders, sent once
```

A write without an answer leaves its partitions or keys out of the observation: their result is
unknown. A request that could not be sent, and a read that failed, is `Failed`. It is fatal where a
permission or the login is missing; `error` is then the exception.

What this does not do: decide anything. The steps do.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from kafka.errors import KafkaError

from rackwise.adapters.clock import monotonic_ms
from rackwise.adapters.kafka.applying.elect import elect_preferred
from rackwise.adapters.kafka.applying.metadata import ReplicaLogs, read_replica_logs
from rackwise.adapters.kafka.applying.partition_reader import PartitionReader, PartitionReading
from rackwise.adapters.kafka.applying.reassign import (
    RequestOutcome,
    alter_reassignments,
    has_replication_flag,
)
from rackwise.adapters.kafka.applying.throttles import (
    ConfigWrite,
    ThrottleValues,
    read_throttles,
    write_throttles,
)
from rackwise.adapters.kafka.configs import read_configs
from rackwise.adapters.kafka.connect import ask, to_rackwise_error
from rackwise.adapters.kafka.read import read_brokers
from rackwise.core.applying.actions import (
    Alter,
    Altered,
    Elect,
    Elected,
    Failed,
    Look,
    Looked,
    Observation,
    ReadThrottles,
    SetThrottles,
    ThrottlesRead,
    ThrottlesSet,
)
from rackwise.core.applying.model import ObservedPartition, ThrottleKey
from rackwise.core.errors import (
    AuthenticationFailed,
    MissingPermission,
    RackwiseError,
    ServerRefused,
    WorldError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from kafka.admin import KafkaAdminClient

    from rackwise.core.model import PartitionId


ClusterAction: TypeAlias = Look | ReadThrottles | SetThrottles | Alter | Elect
"""The actions that a cluster answers."""

BETWEEN_S = 0.1
"""Pause between two readings of written values."""
VISIBLE_MS = 5_000
"""Time that a written throttle may take to be visible at its broker: with ZooKeeper it lags."""
_FATAL = (MissingPermission, AuthenticationFailed)


@dataclass(slots=True, kw_only=True)
class World:
    """A running cluster behind an admin client."""

    admin: KafkaAdminClient
    clock_ms: Callable[[], int] = monotonic_ms
    error: RackwiseError | None = None
    """The last fatal error."""
    texts: dict[PartitionId, str] = field(default_factory=dict)
    """Partition -> text of the error with which the cluster rejected it."""
    is_flagged: bool = field(init=False)
    """Whether the cluster has the flag that keeps the number of replicas."""
    _bad_dirs: frozenset[tuple[int, str]] = frozenset()
    _inherited: dict[ThrottleKey, str] = field(default_factory=dict)
    _min_isr: dict[str, int] = field(default_factory=dict)
    _reader: PartitionReader = field(init=False)

    def __post_init__(self) -> None:
        self.is_flagged = has_replication_flag(self.admin)
        self._reader = PartitionReader(self.admin)

    def answer(self, action: ClusterAction) -> Observation:
        """Execute one action; a `RackwiseError` becomes `Failed`."""
        try:
            return self._answer(action)
        except (WorldError, MissingPermission) as error:
            failure: RackwiseError = error
        except KafkaError as error:
            failure = to_rackwise_error(error, doing="answer")
        is_read = isinstance(action, Look | ReadThrottles)
        is_fatal = isinstance(failure, _FATAL) or (
            isinstance(failure, ServerRefused) and not is_read
        )
        if is_fatal:
            self.error = failure
        return Failed(at_ms=self.clock_ms(), text=failure.message, is_fatal=is_fatal)

    def _answer(self, action: ClusterAction) -> Observation:
        match action:
            case Look():
                return self.look(action.partitions, sizes=action.sizes)
            case ReadThrottles():
                return self._read_throttles(action)
            case SetThrottles():
                return self._set_throttles(action)
            case Alter():
                results = alter_reassignments(
                    self.admin,
                    dict(action.targets),
                    may_change_replication=action.allow_replication_factor_change,
                )
                return Altered(at_ms=self.clock_ms(), answers=self._answers_of(results))
            case Elect():
                results = elect_preferred(self.admin, action.partitions)
                return Elected(at_ms=self.clock_ms(), answers=self._answers_of(results))

    def _answers_of(self, results: RequestOutcome) -> dict[PartitionId, str | None]:
        self.texts |= {which: text for which, (_, text) in results.refused.items() if text}
        return {
            **dict.fromkeys(sorted(results.accepted)),
            **{which: code for which, (code, _) in results.refused.items()},
        }

    def look(self, partitions: Collection[PartitionId], *, sizes: bool = True) -> Looked:
        """Read these partitions and the brokers. Raises what `ask` raises, `WorldError`."""
        found = self.read_partitions(partitions)
        moving = {which: seen for which, seen in found.partitions.items() if seen.adding}
        logs = self._logs(found.live, moving) if sizes else ReplicaLogs()
        if sizes:
            self._bad_dirs = _bad_dirs(logs)
        seen_now = {
            which: _with_bytes(seen, logs.bytes.get(which, {})) if which in moving else seen
            for which, seen in found.partitions.items()
        }
        self._learn_min_isr({topic for topic, _ in seen_now})
        return Looked(
            at_ms=self.clock_ms(),
            partitions=seen_now,
            live=found.live,
            foreign=found.foreign,
            offline=frozenset(which for which, seen in seen_now.items() if seen.leader is None),
            under_min_isr=frozenset(
                which for which, seen in seen_now.items() if self._is_under(which, seen, found)
            ),
            bad_dirs=self._bad_dirs,
            has_sizes=sizes,
        )

    def cluster_id(self) -> str | None:
        """The id of the cluster. Raises what `ask` raises."""
        found = ask(self.admin, self.admin.describe_cluster, doing="describe itself")
        text: str | None = found["cluster_id"]
        return text

    def all_throttles(self) -> dict[ThrottleKey, str]:
        """Every throttle set at a topic or at a live broker. Raises what `ask` raises."""
        topics = sorted(ask(self.admin, self.admin.list_topics, doing="list topics"))
        live = [each.id for each in read_brokers(self.admin) if each.is_live]
        values = read_throttles(self.admin, topics=topics, brokers=live)
        return {
            **{
                ThrottleKey("broker", str(broker), key): value
                for broker, keys in values.brokers.items()
                for key, value in keys.items()
            },
            **{
                ThrottleKey("topic", topic, key): value
                for topic, keys in values.topics.items()
                for key, value in keys.items()
            },
        }

    def read_partitions(
        self, wanted: Collection[PartitionId], *, is_whole: bool = False
    ) -> PartitionReading:
        """See `PartitionReader.read`."""
        return self._reader.read(wanted, is_whole=is_whole)

    def _logs(
        self, live: frozenset[int], moving: Mapping[PartitionId, ObservedPartition]
    ) -> ReplicaLogs:
        partitions: dict[str, list[int]] = {}
        for topic, number in moving:
            partitions.setdefault(topic, []).append(number)
        return read_replica_logs(self.admin, sorted(live), partitions)

    def _learn_min_isr(self, topics: Iterable[str]) -> None:
        """Read `min.insync.replicas` once per topic; a rejected topic stays unknown."""
        new = sorted(set(topics) - self._min_isr.keys())
        if new:
            values = read_configs(self.admin, new, (), progress=lambda _: None)
            self._min_isr |= {name: values.min_insync_replicas.get(name, 0) for name in new}

    def _is_under(
        self, which: PartitionId, seen: ObservedPartition, found: PartitionReading
    ) -> bool:
        live = [broker for broker in seen.isr if broker in found.live]
        return seen.leader is not None and len(live) < self._min_isr.get(which[0], 0)

    def _wait_until_visible(self, writes: list[ConfigWrite]) -> None:
        topics = sorted({each.resource for each in writes if isinstance(each.resource, str)})
        brokers = sorted({each.resource for each in writes if isinstance(each.resource, int)})
        deadline = self.clock_ms() + VISIBLE_MS
        while self.clock_ms() < deadline:
            values = read_throttles(self.admin, topics=topics, brokers=brokers)
            if all(_current_value(values, each) == each.value for each in writes):
                return
            time.sleep(BETWEEN_S)

    def _read_throttles(self, action: ReadThrottles) -> ThrottlesRead:
        values = read_throttles(self.admin, topics=action.topics, brokers=action.brokers)
        self._inherited |= {
            ThrottleKey("broker", str(broker), key): value
            for broker, keys in values.inherited.items()
            for key, value in keys.items()
        }
        return ThrottlesRead(
            at_ms=self.clock_ms(),
            brokers={
                broker: {**values.inherited.get(broker, {}), **keys}
                for broker, keys in values.brokers.items()
            },
            topics=values.topics,
            gone=frozenset(action.topics) - values.topics.keys(),
        )

    def _set_throttles(self, action: SetThrottles) -> ThrottlesSet:
        """Set keys and wait until they are visible, so that the next reading shows no old values.

        A rate that the broker inherits from the cluster's default is restored by deleting ours.
        """
        writes = {
            ConfigWrite(
                resource=int(key.name) if key.kind == "broker" else key.name,
                key=key.key,
                value=None if value == self._inherited.get(key) else value,
            ): key
            for key, value in action.changes
        }
        failed = write_throttles(self.admin, writes)
        self._wait_until_visible([write for write in writes if write not in failed])
        answers: dict[ThrottleKey, str | None] = {}
        for write, key in writes.items():
            code = failed.get(write)
            if write not in failed or code is not None:
                answers[key] = code
        return ThrottlesSet(at_ms=self.clock_ms(), answers=answers)


def _current_value(values: ThrottleValues, write: ConfigWrite) -> str | None:
    """The value at the resource; of a resource without an answer, the written value."""
    if isinstance(write.resource, int):
        found = values.brokers.get(write.resource)
    else:
        found = values.topics.get(write.resource)
    return write.value if found is None else found.get(write.key)


def _bad_dirs(logs: ReplicaLogs) -> frozenset[tuple[int, str]]:
    return frozenset(
        (broker, each.path)
        for broker, dirs in logs.log_dirs.items()
        for each in dirs
        if each.error is not None
    )


def _with_bytes(seen: ObservedPartition, sizes: Mapping[int, int]) -> ObservedPartition:
    return ObservedPartition(
        topic_id=seen.topic_id,
        replicas=seen.replicas,
        adding=seen.adding,
        removing=seen.removing,
        leader=seen.leader,
        isr=seen.isr,
        adding_bytes={broker: sizes[broker] for broker in seen.adding if broker in sizes},
    )
