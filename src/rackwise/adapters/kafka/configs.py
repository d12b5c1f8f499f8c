"""The configs that matter to racks and bytes: replication, retention, throttles, the selector.

Throttle keys are kept only where somebody set them: a missing key is not an empty one. Broker keys
are read from the broker itself, all brokers in parallel.

Source: KIP-73 (throttles), KIP-392 (`replica.selector.class`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from kafka.protocol.admin import DescribeConfigsRequest

from rackwise.adapters.kafka.connect import Message, ask, reason, send, send_to_each
from rackwise.core.model import Configs, Note
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafka.admin import KafkaAdminClient

MIN_INSYNC_REPLICAS = "min.insync.replicas"
RETENTION_BYTES = "retention.bytes"
RETENTION_MS = "retention.ms"
CLEANUP_POLICY = "cleanup.policy"
REPLICA_SELECTOR = "replica.selector.class"
TOPIC_THROTTLES = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
BROKER_THROTTLES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)

Name = TypeVar("Name", int, str)

TOPICS_PER_REQUEST = 500
_TOPIC, _BROKER = 2, 4
_DEFAULT = 5
"""Config source: nobody set the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenConfigs:
    """Throttles and selectors, and the effective values of each topic."""

    configs: Configs = field(default_factory=Configs)
    min_insync_replicas: dict[str, int] = field(default_factory=dict)
    retention_bytes: dict[str, int] = field(default_factory=dict)
    retention_ms: dict[str, int] = field(default_factory=dict)
    cleanup_policy: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


def no_configs() -> SeenConfigs:
    """The result where configs were not requested."""
    return SeenConfigs(notes=(Note(kind="no-configs", text="configs were not asked for"),))


def read_configs(
    admin: KafkaAdminClient,
    topics: Sequence[str],
    live: Sequence[int],
    *,
    progress: Callable[[int], None],
) -> SeenConfigs:
    """Configs of these topics and of the live brokers; a rejected request leaves a note."""
    results = [
        result
        for first in range(0, len(topics), TOPICS_PER_REQUEST)
        for result in _ask_topics(admin, topics[first : first + TOPICS_PER_REQUEST], progress)
    ]
    of_topics = {each.resource_name: each.configs for each in results if not each.error_code}
    of_brokers, silent = _ask_brokers(admin, live, progress)
    refused = [
        ("topic", each.resource_name, reason(each.error_code))
        for each in results
        if each.error_code
    ]
    return SeenConfigs(
        configs=Configs(
            topics={name: kept for name, kept in _kept(of_topics, TOPIC_THROTTLES).items() if kept},
            brokers=_kept(of_brokers, (*BROKER_THROTTLES, REPLICA_SELECTOR)),
        ),
        min_insync_replicas=_numbers(of_topics, MIN_INSYNC_REPLICAS),
        retention_bytes=_numbers(of_topics, RETENTION_BYTES),
        retention_ms=_numbers(of_topics, RETENTION_MS),
        cleanup_policy=_texts(of_topics, CLEANUP_POLICY),
        notes=_notes(refused + silent),
    )


def _ask_topics(
    admin: KafkaAdminClient, topics: Sequence[str], progress: Callable[[int], None]
) -> list[Message]:
    keys = [MIN_INSYNC_REPLICAS, RETENTION_BYTES, RETENTION_MS, CLEANUP_POLICY, *TOPIC_THROTTLES]
    request = DescribeConfigsRequest(resources=[_resource(_TOPIC, name, keys) for name in topics])
    answer = ask(admin, lambda: send(admin, request), doing="describe configs")
    progress(1)
    return list(answer.results)


def _ask_brokers(
    admin: KafkaAdminClient, live: Sequence[int], progress: Callable[[int], None]
) -> tuple[dict[int, list[Message]], list[tuple[str, str, str]]]:
    """Broker id -> its configs, and `kind, name, reason` of each broker without an answer."""
    keys = [*BROKER_THROTTLES, REPLICA_SELECTOR]
    answers = send_to_each(
        admin,
        {
            broker: DescribeConfigsRequest(resources=[_resource(_BROKER, str(broker), keys)])
            for broker in live
        },
    )
    progress(len(answers))
    by_broker: dict[int, list[Message]] = {}
    silent: list[tuple[str, str, str]] = []
    for broker, answer in sorted(answers.items()):
        error = answer if isinstance(answer, Exception) else _first_error(answer)
        if error is not None:
            silent.append(("broker", str(broker), reason(error)))
        else:
            by_broker[broker] = [config for result in answer.results for config in result.configs]
    return by_broker, silent


def _resource(
    kind: int, name: str, keys: Sequence[str]
) -> DescribeConfigsRequest.DescribeConfigsResource:
    return DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys)
    )


def _first_error(answer: Message) -> int | None:
    return next((each.error_code for each in answer.results if each.error_code), None)


def _kept(
    found: Mapping[Name, Sequence[Message]], keys: Sequence[str]
) -> dict[Name, dict[str, str]]:
    """Name -> the keys that somebody set and their values."""
    return {
        name: {
            config.name: config.value
            for config in sorted(configs, key=lambda each: each.name)
            if config.name in keys and config.value is not None and config.config_source != _DEFAULT
        }
        for name, configs in found.items()
    }


def _numbers(found: Mapping[str, Sequence[Message]], key: str) -> dict[str, int]:
    """Topic -> the effective number, set or default."""
    return {name: int(text) for name, text in _texts(found, key).items()}


def _texts(found: Mapping[str, Sequence[Message]], key: str) -> dict[str, str]:
    """Topic -> the effective text, set or default."""
    return {
        name: config.value
        for name, configs in found.items()
        for config in configs
        if config.name == key and config.value is not None
    }


def _notes(refused: Sequence[tuple[str, str, str]]) -> tuple[Note, ...]:
    """One note per kind and reason, with the number of names and one example."""
    names: dict[tuple[str, str], list[str]] = {}
    for kind, name, why in refused:
        names.setdefault((kind, why), []).append(name)
    return tuple(
        Note(
            kind="no-configs",
            text=f"configs of {counted(len(those), kind)}, such as {min(those)}: {why}",
        )
        for (kind, why), those in sorted(names.items())
    )
