"""The creation and expansion of topics with chosen rows, confirmed on the cluster.

```
the write    accepted       ->  read metadata until each row is shown as requested
             rejected       ->  TopicExists, UnknownTopic, MissingPermission, ServerRefused
             not answered   ->  read metadata: our rows: done; no rows in time: OutcomeUnknown
the rows     other ones     ->  PartialFailure, which names the partitions
```

A request without an answer may have been executed, so it is never sent again: its result is read
from the cluster. Metadata of a broker may be old; other rows, and rows of a topic that was deleted
before, count only after they were shown for `STEADY_S`.

What this does not do: decide where replicas go (`core.placement`), or change existing rows.

Source: KIP-4 (CreateTopics), KIP-195 (CreatePartitions), KIP-36 (auto-creation with some racks).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import kafka.errors as kafka_errors
from kafka.protocol.metadata import MetadataRequest

from rackwise.adapters.kafka.connect import ask, send, to_rackwise_error
from rackwise.adapters.kafka.logs.read import read_log_dirs
from rackwise.adapters.kafka.permissions import missing_permission
from rackwise.adapters.kafka.read import read_brokers
from rackwise.core.errors import (
    MissingPermission,
    OutcomeUnknown,
    PartialFailure,
    RackwiseError,
    Refused,
    ServerRefused,
    TopicExists,
    UnknownTopic,
    Unreachable,
    WorldError,
)
from rackwise.core.model import mapped_brokers
from rackwise.core.odd_racks import NO_MAP
from rackwise.core.placement import Levels, Placement, RackMode, place
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.connect import Message
    from rackwise.core.model import Broker
    from rackwise.core.placement import Draws, Placer

NO_CONFIGS: Mapping[str, str] = MappingProxyType({})
DEFAULT = Levels()
TIMEOUT_MS = 30_000
"""Time for the cluster to execute a write, and then to show it."""
LOOK_EVERY_S = 0.1
STEADY_S = 5.0
"""Rows that differ from the request for this long are no lag of a broker."""

_EXISTS = 36
_NO_TOPIC = 3
_TIMED_OUT = 7
_NOT_ALLOWED = (29, 31)
Code = tuple[int, "str | None"]
"""Kafka's error code, 0 for none, and its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTopic:
    """A topic that does not exist: the rows that it would get, and their brokers."""

    rows: Placement
    brokers: tuple[Broker, ...]


def ignore(_count: int) -> None:
    """Ignore the progress."""


def create_topic(
    admin: KafkaAdminClient,
    name: str,
    placement: Placement,
    *,
    configs: Mapping[str, str] = NO_CONFIGS,
    timeout_ms: int = TIMEOUT_MS,
    progress: Callable[[int], None] = ignore,
) -> None:
    """Create a topic whose partition p has the replicas `placement[p]`; return when it is shown.

    `progress` is called with the number of partitions that newly show the requested rows. Nothing
    is written where it raises `TopicExists`, `MissingPermission`, `ServerRefused`, `Unreachable` or
    `Refused`; other errors are `PartialFailure`, `OutcomeUnknown`.
    """
    topic = {"assignments": placement.as_dict(), "configs": dict(configs)}

    def call() -> Code:
        client: Message = admin
        answer = client.create_topics({name: topic}, timeout_ms=timeout_ms, raise_errors=False)
        (result,) = answer["topics"]
        return result["error_code"], result.get("error_message")

    doing = f"create topic {escaped(name)}"
    is_answered = _write(call, name, doing=doing, operation="Create")
    shown = _PlacementWatch(admin, name, placement, timeout_ms, progress)
    shown.wait(is_answered=is_answered, doing=doing)


def add_to_topic(
    admin: KafkaAdminClient,
    name: str,
    new: Placement,
    *,
    timeout_ms: int = TIMEOUT_MS,
    progress: Callable[[int], None] = ignore,
) -> None:
    """Add the partitions of `new`; the first one follows the last partition of the topic.

    Raises what `create_topic` raises, with `UnknownTopic` instead of `TopicExists`.
    """
    rows = {"count": new.first + len(new), "assignments": new.rows.tolist()}

    def call() -> Code:
        client: Message = admin
        answer = client.create_partitions({name: rows}, timeout_ms=timeout_ms, raise_errors=False)
        (result,) = answer.results
        return result.error_code, result.error_message

    doing = f"add partitions to topic {escaped(name)}"
    is_answered = _write(call, name, doing=doing, operation="Alter")
    shown = _PlacementWatch(admin, name, new, timeout_ms, progress)
    shown.wait(is_answered=is_answered, doing=doing)


def ensure_topic(
    admin: KafkaAdminClient,
    name: str,
    partitions: int,
    replication: int,
    *,
    placer: Placer = DEFAULT,
    configs: Mapping[str, str] = NO_CONFIGS,
    rack_map: Mapping[str, str] = NO_MAP,
    rng: Draws | None = None,
    timeout_ms: int = TIMEOUT_MS,
) -> bool:
    """Create the topic unless it exists; return whether it was created. Its shape is not checked.

    Racks are used where all brokers have one that the placer can use, and else ignored, so that
    services can start during the rollout of racks and of rack paths. `rack_map`: plain rack name ->
    path, `racks.map` of a policy. Raises what `place` and `create_topic` raise, and never
    `TopicExists`: another starter may create the topic first.
    """
    missing = missing_topic(
        admin, name, partitions, replication, placer=placer, rack_map=rack_map, rng=rng
    )
    if missing is None:
        return False
    try:
        create_topic(admin, name, missing.rows, configs=configs, timeout_ms=timeout_ms)
    except TopicExists:
        return False
    return True


def missing_topic(
    admin: KafkaAdminClient,
    name: str,
    partitions: int,
    replication: int,
    *,
    placer: Placer = DEFAULT,
    rack_map: Mapping[str, str] = NO_MAP,
    rng: Draws | None = None,
) -> MissingTopic | None:
    """What `ensure_topic` would create; None where the topic exists. Only reads."""
    if _rows(admin, name):
        return None
    brokers = _with_log_dirs(admin, mapped_brokers(read_brokers(admin), rack_map))
    rows = place(brokers, partitions, replication, placer=placer, racks=RackMode.SAFE, rng=rng)
    return MissingTopic(rows=rows, brokers=brokers)


def _with_log_dirs(admin: KafkaAdminClient, brokers: tuple[Broker, ...]) -> tuple[Broker, ...]:
    """The brokers with their log folders, which tell whether they are cordoned."""
    found = read_log_dirs(admin, [broker.id for broker in brokers if broker.is_live])
    return tuple(replace(broker, log_dirs=found.get(broker.id, ())) for broker in brokers)


def topic_rows(admin: KafkaAdminClient, name: str) -> Placement | None:
    """The rows of a topic as one broker shows them; None where the topic does not exist.

    Raises what `ask` raises, and `MissingPermission`.
    """
    rows = _rows(admin, name)
    return Placement.of(rows) if rows else None


def _write(
    call: Callable[[], Code],
    name: str,
    *,
    doing: str,
    operation: str,
) -> bool:
    """Send once. True: executed; False: unknown. Raises where the cluster rejects the request."""
    try:
        code, text = call()
    except kafka_errors.IncompatibleBrokerVersion as error:
        raise Refused(
            f"Kafka 2.4 or later is needed to {doing}: {escaped(str(error))}",
            wanted="Kafka 2.4",
            had=type(error).__name__,
            hint="upgrade the brokers, or use Kafka's own kafka-topics with --replica-assignment",
        ) from None
    except (kafka_errors.NodeNotReadyError, RuntimeError) as error:
        raise Unreachable(
            f"cannot {doing}: the controller cannot be reached: {escaped(str(error))}",
            wanted="the controller",
            had=type(error).__name__,
            hint="check that the controller runs, then try again: nothing was written",
        ) from None
    except kafka_errors.KafkaError as error:
        if error.retriable or not isinstance(error, kafka_errors.BrokerResponseError):
            return False
        raise to_rackwise_error(error, doing=doing) from None
    if code == _TIMED_OUT:
        return False
    if code:
        raise _refused(code, text, name, doing=doing, operation=operation)
    return True


def _refused(
    code: int, text: str | None, name: str, *, doing: str, operation: str
) -> RackwiseError:
    of_code: Message = kafka_errors.for_code
    kind = of_code(code).__name__
    if code == _EXISTS:
        return topic_exists(name)
    if code == _NO_TOPIC:
        return unknown_topic(name)
    if code in _NOT_ALLOWED:
        return missing_permission(kind, doing=doing, operation=operation)
    return ServerRefused(
        f"the cluster rejected the request to {doing}: "
        f"{escaped(text or kind.removesuffix('Error'))}",
        had=kind.removesuffix("Error"),
        hint="nothing was written; fix the cause and try again",
    )


def topic_exists(name: str) -> TopicExists:
    """The error for a topic that exists already."""
    return TopicExists(
        f"topic {escaped(name)} exists already",
        wanted="a name that is free",
        had=name,
        hint="run topic alter to change it; with --if-not-exists the exit code is 2",
    )


def unknown_topic(name: str) -> UnknownTopic:
    """The error for a topic that does not exist."""
    return UnknownTopic(
        f"topic {escaped(name)} does not exist",
        wanted="a topic of the cluster",
        had=name,
        hint="run topic create; Kafka hides a topic that the principal may not describe",
    )


class _PlacementWatch:
    """The rows that the cluster shows for a request, read repeatedly."""

    def __init__(
        self,
        admin: KafkaAdminClient,
        name: str,
        wanted: Placement,
        timeout_ms: int,
        progress: Callable[[int], None],
    ) -> None:
        self._admin = admin
        self._name = name
        self._asked = wanted.as_dict()
        self._timeout_ms = timeout_ms
        self._progress = progress
        self._right = 0
        self._differs_since: float | None = None

    def wait(self, *, is_answered: bool, doing: str) -> None:
        """Wait until the requested rows are shown. Raises `PartialFailure` or `OutcomeUnknown`."""
        deadline = time.monotonic() + self._timeout_ms / 1000
        while (found := self._look()) != self._asked:
            now = time.monotonic()
            if now >= deadline or self._differs_for(found, now) >= STEADY_S:
                break
            time.sleep(LOOK_EVERY_S)
        if found == self._asked:
            return
        if found or is_answered:
            raise _not_as_asked(self._name, self._asked, found, self._timeout_ms)
        raise OutcomeUnknown(
            f"the request to {doing} was not answered, and after {self._timeout_ms} ms the cluster "
            "shows no such partition",
            wanted="an answer",
            had=None,
            hint="check again before you send it a second time: the cluster may still execute it",
        )

    def _look(self) -> dict[int, list[int]]:
        shown = _rows_if_answered(self._admin, self._name)
        found = {partition: shown[partition] for partition in self._asked if partition in shown}
        right = sum(self._asked[partition] == row for partition, row in found.items())
        self._progress(max(0, right - self._right))
        self._right = max(right, self._right)
        return found

    def _differs_for(self, found: Mapping[int, list[int]], now: float) -> float:
        """For how many seconds rows other than the requested ones have been shown."""
        if all(self._asked[partition] == row for partition, row in found.items()):
            self._differs_since = None
            return 0.0
        if self._differs_since is None:
            self._differs_since = now
        return now - self._differs_since


def _not_as_asked(
    name: str,
    asked: Mapping[int, list[int]],
    found: Mapping[int, list[int]],
    timeout_ms: int,
) -> PartialFailure:
    done = [each for each, row in asked.items() if found.get(each) == row]
    failed = [each for each in found if found[each] != asked[each]]
    skipped = [each for each in asked if each not in found]
    first = (failed or skipped)[0]
    had = _text(found[first]) if failed else f"nothing after {timeout_ms} ms"
    return PartialFailure(
        f"topic {escaped(name)}: of {counted(len(asked), 'partition')}, {len(done)} as requested, "
        f"{len(failed)} with other replicas, {len(skipped)} not shown; partition {first}: "
        f"expected {_text(asked[first])}, got {had}",
        done=[f"{name}-{each}" for each in done],
        failed=[f"{name}-{each}" for each in failed],
        skipped=[f"{name}-{each}" for each in skipped],
        hint="another client changed the topic, or brokers lag: run rackwise audit before you "
        "repeat it",
    )


def _rows_if_answered(admin: KafkaAdminClient, name: str) -> dict[int, list[int]]:
    """The rows; empty without an answer. Raises `PartialFailure` without permission."""
    try:
        return _rows(admin, name)
    except WorldError:
        return {}
    except MissingPermission as error:
        raise PartialFailure(
            f"the request for topic {escaped(name)} was sent, but its result cannot be read: "
            f"{error.message}",
            skipped=[name],
            hint=error.hint,
        ) from None


def _text(row: list[int]) -> str:
    return ":".join(map(str, row))


def _rows(admin: KafkaAdminClient, name: str) -> dict[int, list[int]]:
    """Partition -> replicas in order, as one broker shows them; empty for an unknown topic."""
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=name)],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    answer = ask(admin, lambda: send(admin, request), doing=f"describe topic {escaped(name)}")
    (topic,) = answer.topics
    if topic.error_code in _NOT_ALLOWED:
        raise missing_permission(
            "TopicAuthorizationFailedError", doing=f"describe topic {escaped(name)}"
        )
    return {each.partition_index: list(each.replica_nodes) for each in topic.partitions}
