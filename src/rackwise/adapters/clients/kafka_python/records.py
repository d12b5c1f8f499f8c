"""Records of one partition between two offsets, read from a replica in the reader's rack.

For readers that keep offsets themselves: they join no group and commit no offsets. A reader gives
the start and the end offset, and gets exactly these records or an error. An offset that the broker
no longer has is an error, never skipped.

```
topic_id(reach, "t")          "4f1c...", 32 hex digits; None if the brokers give none
ends(reach, "t")              {0: (first offset there is, the one after the last), 1: ...}
records(reach, "t", 0, 5, 9)  records 5 to 8, in lists as they arrive
```

The rack is detected where the code runs (`clients.rack`), so that each process of a cluster has its
own. With RackAwareReplicaSelector, brokers then send the reader to a nearby replica (KIP-392).
"""

from __future__ import annotations

import os
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kafka.errors as kafka_errors
from kafka import KafkaConsumer, TopicPartition

from rackwise.adapters.clients.private import cluster_of
from rackwise.adapters.clients.rack import detect_rack
from rackwise.adapters.kafka.client_config import read_client_config
from rackwise.adapters.kafka.connect import is_transient, to_rackwise_error
from rackwise.adapters.kafka.logins.quiet_logs import quiet_logs
from rackwise.adapters.kafka.logins.token_login import check_tokens
from rackwise.adapters.kafka.permissions import missing_permission
from rackwise.adapters.kafka.security import security_arguments
from rackwise.core.errors import InvalidConfig, ServerRefused, Unreachable
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from rackwise.core.errors import RackwiseError

PATIENCE_S = 60.0
"""A partition that returns nothing for this long is unreachable."""
POLL_MS = 1000
MOST_RECORDS = 10_000
CLIENT_ID = "rackwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How to connect to a cluster and to detect the rack, as plain texts for other processes.

    The rack comes from the first source that has one: the environment, the file, the cloud.
    """

    bootstrap: str
    command_config: str | None = None
    """A file of Java properties that exists on every host that uses this, or None."""
    variables: tuple[str, ...] = ("CLIENT_RACK", "KAFKA_CLIENT_RACK")
    """Environment variables that may hold the rack; the first that is set counts."""
    rack_file: str | None = None
    """A file with the rack in its only line, or None."""
    asks_metadata: bool = False
    """Whether to ask the cloud's metadata service last."""


def ends(reach: Reach, topic: str) -> dict[int, tuple[int, int]]:
    """Partition -> its first offset, and the offset after its last.

    Raises `InvalidConfig` for a topic that does not exist, and the errors of `client_error`.
    """
    with _knowing(reach, topic) as (consumer, numbers):
        places = [TopicPartition(topic, number) for number in sorted(numbers)]
        first, last = consumer.beginning_offsets(places), consumer.end_offsets(places)
    return {place.partition: (first[place], last[place]) for place in places}


def topic_id(reach: Reach, topic: str) -> str | None:
    """The id of a topic in hex digits: another one if the topic was deleted and created again.

    None if the brokers give none (Kafka before 2.8). Raises what `ends` raises.
    """
    with _knowing(reach, topic) as (consumer, _):
        found: UUID | None = cluster_of(consumer, "kafka-python").topic_id(topic)
    return found.hex if found else None


@contextmanager
def _knowing(reach: Reach, topic: str) -> Iterator[tuple[Any, set[int]]]:
    """A consumer with the metadata of a topic, and its partitions. Raises what `ends` raises."""
    with closing(_consumer(reach)) as consumer:
        try:
            numbers = consumer.partitions_for_topic(topic)
            if not numbers:
                raise InvalidConfig(
                    f"topic {escaped(topic)} is not in the cluster",
                    wanted=topic,
                    had=None,
                    hint="create it, or give another --topic",
                )
            yield consumer, numbers
        except kafka_errors.KafkaError as error:
            doing = f"describe topic {escaped(topic)}"
            raise client_error(reach, error, doing=doing) from error


def records(reach: Reach, topic: str, partition: int, start: int, end: int) -> Iterator[list[Any]]:
    """All records with `start <= offset < end`, in lists as they arrive.

    A compacted topic, or one with transactions, gives fewer. Raises `ServerRefused` if an offset
    no longer exists, and the errors of `client_error`.
    """
    place = TopicPartition(topic, partition)
    with closing(_consumer(reach)) as consumer:
        consumer.assign([place])
        consumer.seek(place, start)
        deadline = time.monotonic() + PATIENCE_S
        at = start
        while at < end:
            try:
                found = consumer.poll(timeout_ms=POLL_MS, max_records=MOST_RECORDS)
                at = consumer.position(place)
            except (
                kafka_errors.OffsetOutOfRangeError,
                kafka_errors.NoOffsetForPartitionError,
            ) as e:
                raise _gone(topic, partition, at) from e
            except kafka_errors.KafkaError as error:
                doing = f"read topic {escaped(topic)}"
                raise client_error(reach, error, doing=doing, operation="Read") from error
            if wanted := [each for each in found.get(place, ()) if each.offset < end]:
                yield wanted
            if found:
                deadline = time.monotonic() + PATIENCE_S
            elif time.monotonic() > deadline:
                raise unreachable(reach, None)


def _consumer(reach: Reach) -> Any:  # noqa: ANN401 (kafka-python has no types)
    try:
        return KafkaConsumer(  # type: ignore[no-untyped-call]
            bootstrap_servers=reach.bootstrap.split(","),
            client_id=CLIENT_ID,
            client_rack=rack_here(reach) or "",
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            allow_auto_create_topics=False,
            **security_of(reach),
        )
    except kafka_errors.KafkaError as error:
        raise client_error(reach, error, doing="connect") from error


def rack_here(reach: Reach) -> str | None:
    """The rack of this process; None if no source has a value."""
    file = None if reach.rack_file is None else Path(reach.rack_file)
    return detect_rack(env=reach.variables, file=file, metadata_service=reach.asks_metadata)


def security_of(reach: Reach) -> dict[str, Any]:
    """Arguments for a client of kafka-python, from the configured file.

    Raises `InvalidConfig` for the file, and what its login by a token raises.
    """
    quiet_logs("kafka")
    config = reach.command_config
    settings = {} if config is None else read_client_config(Path(config))
    arguments = security_arguments(settings, reach.bootstrap.split(","))
    check_tokens(arguments)
    return arguments


def client_error(
    reach: Reach, error: kafka_errors.KafkaError, *, doing: str, operation: str = "Describe"
) -> RackwiseError:
    """The error of our tree for an error of kafka-python in a process of a cluster.

    `doing` completes "the request to ..."; `operation`: the right that it needs. `Unreachable` for
    brokers that do not answer, `MissingPermission`, `AuthenticationFailed` or `ServerRefused`.
    """
    if isinstance(error, kafka_errors.AuthorizationError):
        return missing_permission(type(error).__name__, doing=doing, operation=operation)
    if is_transient(error):
        return unreachable(reach, error)
    return to_rackwise_error(error, doing=doing)


def unreachable(reach: Reach, error: Exception | None) -> Unreachable:
    """The error for brokers that do not answer. `error`: the last one, or None for silence."""
    why = type(error).__name__ if error is not None else f"nothing in {PATIENCE_S:.0f} s"
    return Unreachable(
        f"the brokers at {escaped(reach.bootstrap)} did not answer process {os.getpid()}: {why}",
        wanted=reach.bootstrap,
        had=why,
        hint="make the brokers reachable from every executor, under the names that they advertise",
    )


def _gone(topic: str, partition: int, offset: int) -> ServerRefused:
    return ServerRefused(
        f"the broker no longer has offset {offset} of {escaped(topic)}-{partition}",
        wanted=offset,
        had=None,
        hint="start with a new --checkpoint, and set a longer retention: retention deleted the "
        "records before the reader got them",
        name="OFFSET_OUT_OF_RANGE",
        where=f"{topic}-{partition}",
    )
