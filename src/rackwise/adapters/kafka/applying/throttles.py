"""Replication throttles on the cluster: exact values that somebody set, written one key at a time.

```
resource        key                                       value
broker 4        leader.replication.throttled.rate         bytes per second
broker 4        follower.replication.throttled.rate       bytes per second
topic orders    leader.replication.throttled.replicas     0:1,0:4  or *
topic orders    follower.replication.throttled.replicas   0:4      or *
```

A key counts as set only at the resource itself. A rate that a broker inherits from the cluster's
default is kept apart: restoring it would write a key that did not exist. An empty value is a value.
The keys of a broker are read from and sent to that broker, as Kafka requires, so those of a dead
broker cannot be reached.

Writes change only the named keys (KIP-339) and are sent once. The caller reads back the result.

Source: KIP-73, KIP-339 (IncrementalAlterConfigs), KIP-226 (dynamic broker configs).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from rackwise.adapters.kafka.applying.reassign import code_name
from rackwise.adapters.kafka.applying.send_once import Unanswered, send_once
from rackwise.adapters.kafka.configs import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    TOPICS_PER_REQUEST,
)
from rackwise.adapters.kafka.connect import ask, reason, send, send_to_each
from rackwise.adapters.kafka.permissions import missing_permission

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.connect import Message

RATES = BROKER_THROTTLES[:2]
"""The rates of leader and follower."""

_TOPIC, _BROKER = 2, 4
_OWN = frozenset({1, 2})
"""Config sources: set at this topic or broker itself."""
_DEFAULT = 5
_SET, _DELETE = 0, 1
_DENIED = {29: "TopicAuthorizationFailedError", 31: "ClusterAuthorizationFailedError"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleValues:
    """The throttles that are set now; a key that is not set is missing."""

    brokers: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """Broker -> key -> value."""
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Topic -> key -> value."""
    inherited: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """Broker -> key -> value from the cluster's default or the broker's file."""
    silent: Mapping[int, str] = field(default_factory=dict)
    """Broker that did not answer -> reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigWrite:
    """One key to set or to delete."""

    resource: int | str
    """A broker id or a topic."""
    key: str
    value: str | None
    """None deletes the key."""


def read_throttles(
    admin: KafkaAdminClient, *, topics: Sequence[str] = (), brokers: Sequence[int] = ()
) -> ThrottleValues:
    """The throttle keys of these resources. A topic that does not exist has none.

    Raises `MissingPermission` where they may not be read, and what `ask` raises.
    """
    of_topics: dict[str, Mapping[str, str]] = {}
    for first in range(0, len(topics), TOPICS_PER_REQUEST):
        of_topics |= _topics(admin, topics[first : first + TOPICS_PER_REQUEST])
    own: dict[int, Mapping[str, str]] = {}
    inherited: dict[int, Mapping[str, str]] = {}
    silent: dict[int, str] = {}
    requests = {broker: _describe(_BROKER, [str(broker)], RATES) for broker in brokers}
    answers = ask(admin, lambda: send_to_each(admin, requests), doing="describe configs")
    for broker, answer in sorted(answers.items()):
        if isinstance(answer, Exception):
            silent[broker] = reason(answer)
            continue
        (result,) = answer.results
        _check_allowed(result.error_code, "read the throttles", "DescribeConfigs")
        if result.error_code:
            silent[broker] = reason(result.error_code)
            continue
        own[broker] = _values(result, RATES, is_own=True)
        rest = _values(result, RATES, is_own=False)
        if rest:
            inherited[broker] = rest
    return ThrottleValues(brokers=own, topics=of_topics, inherited=inherited, silent=silent)


def write_throttles(
    admin: KafkaAdminClient, writes: Iterable[ConfigWrite]
) -> dict[ConfigWrite, str | None]:
    """Set and delete keys; return the failed writes with the name of Kafka's error.

    The name is None for a write without an answer, or whose broker cannot be reached. Raises
    `MissingPermission`. `read_throttles` shows the values afterwards.
    """
    failed: dict[ConfigWrite, str | None] = {}
    of_topics: dict[int | str, list[ConfigWrite]] = {}
    of_brokers: dict[int | str, list[ConfigWrite]] = {}
    for write in writes:
        chosen = of_brokers if isinstance(write.resource, int) else of_topics
        chosen.setdefault(write.resource, []).append(write)
    names = sorted(of_topics, key=str)
    for first in range(0, len(names), TOPICS_PER_REQUEST):
        part = {name: of_topics[name] for name in names[first : first + TOPICS_PER_REQUEST]}
        answer = send_once(admin, _alter(_TOPIC, part), doing="set throttles of topics")
        failed |= _failed(part, answer)
    failed |= _write_brokers(admin, of_brokers)
    return failed


def _topics(admin: KafkaAdminClient, names: Sequence[str]) -> dict[str, Mapping[str, str]]:
    request = _describe(_TOPIC, names, TOPIC_THROTTLES)
    answer = ask(admin, lambda: send(admin, request), doing="describe configs")
    found: dict[str, Mapping[str, str]] = {}
    for result in answer.results:
        _check_allowed(result.error_code, "read the throttles", "DescribeConfigs")
        if not result.error_code:
            found[result.resource_name] = _values(result, TOPIC_THROTTLES, is_own=True)
    return found


def _describe(kind: int, names: Sequence[str], keys: Sequence[str]) -> Message:
    make: Message = DescribeConfigsRequest
    return make(
        resources=[
            make.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=list(keys)
            )
            for name in names
        ],
        include_synonyms=True,
    )


def _values(result: Message, keys: Sequence[str], *, is_own: bool) -> dict[str, str]:
    """Key -> its value at the resource itself, or else the inherited value."""
    found: dict[str, str] = {}
    for config in sorted(result.configs, key=lambda each: str(each.name)):
        if config.name not in keys:
            continue
        for source, value in _sources(config):
            if value is not None and (source in _OWN) == is_own and source != _DEFAULT:
                found.setdefault(config.name, value)
    return found


def _sources(config: Message) -> list[tuple[int, str | None]]:
    """Sources and values of a config, the effective one first."""
    named = [
        (each.source, each.value) for each in config.synonyms or () if each.name == config.name
    ]
    return named or [(config.config_source, config.value)]


def _write_brokers(
    admin: KafkaAdminClient, wanted: Mapping[int | str, Sequence[ConfigWrite]]
) -> dict[ConfigWrite, str | None]:
    requests = {int(broker): _alter(_BROKER, {broker: rows}) for broker, rows in wanted.items()}
    failed: dict[ConfigWrite, str | None] = {}
    for broker, answer in sorted(send_to_each(admin, requests).items()):
        part: dict[int | str, Sequence[ConfigWrite]] = {broker: wanted[broker]}
        result = Unanswered(reason(answer)) if isinstance(answer, Exception) else answer
        failed |= _failed(part, result)
    return failed


def _alter(kind: int, wanted: Mapping[int | str, Sequence[ConfigWrite]]) -> Message:
    make: Message = IncrementalAlterConfigsRequest
    of_resource = make.AlterConfigsResource
    of_key = of_resource.AlterableConfig
    return make(
        resources=[
            of_resource(
                resource_type=kind,
                resource_name=str(name),
                configs=[
                    of_key(
                        name=write.key,
                        config_operation=_DELETE if write.value is None else _SET,
                        value=write.value,
                    )
                    for write in rows
                ],
            )
            for name, rows in wanted.items()
        ],
        validate_only=False,
    )


def _failed(
    wanted: Mapping[int | str, Sequence[ConfigWrite]], answer: Message | Unanswered
) -> dict[ConfigWrite, str | None]:
    every = [(str(name), write) for name, rows in wanted.items() for write in rows]
    if isinstance(answer, Unanswered):
        return dict.fromkeys(write for _, write in every)
    codes = {each.resource_name: each for each in answer.responses}
    failed: dict[ConfigWrite, str | None] = {}
    for name, write in every:
        result = codes.get(name)
        if result is None:
            failed[write] = None
            continue
        _check_allowed(result.error_code, "set throttles", "AlterConfigs")
        if result.error_code:
            failed[write] = code_name(result.error_code)
    return failed


def _check_allowed(code: int, doing: str, operation: str) -> None:
    if code in _DENIED:
        raise missing_permission(_DENIED[code], doing=doing, operation=operation)
