"""The settings of a broker that concern its id, read before the broker reads them.

Goals, in order: the values are those that Kafka will see; a value that Kafka rejects is rejected
with its name; nothing else of the file is kept, passwords least of all.

```
server.properties                              COMMAND
broker.id=-1                                   kafka-server-start.sh server.properties
log.dirs=/a,/b                                    --override broker.rack=a
advertised.listeners=PLAINTEXT://kafka1:9092      --override node.id={broker.id}
```

`--override KEY=VALUE` wins over the file. `{broker.id}` in a value of the command is the place of
the id: it sets nothing. `broker.id` and `node.id` are two names of one setting. So are `log.dirs`
and `log.dir`, of which the first wins. Without `process.roles` a broker is in ZooKeeper mode.
Endpoints are those of `advertised.listeners`, else of `listeners`, without those of the controller.
An endpoint without a host is not known: Kafka asks the resolver for it.

What this does not do: read a file that COMMAND names itself; resolve config providers.

Source: kafka.server.KafkaConfig, kafka.Kafka (`--override`), 3.9 and 4.x.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import read_bytes
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.model import Mode
from rackwise.core.identity.nodes.nodes import listener_endpoint
from rackwise.core.java_properties import MAX_BYTES, parse_properties
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

CARRIER = "{broker.id}"
"""The place of the id in an argument of COMMAND."""

_OVERRIDE = "--override"
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")
_ANY_HOST = ("0.0.0.0", "[::]", "[0:0:0:0:0:0:0:0]")  # noqa: S104 (compared with, not bound to)
_ROLES = ("broker", "controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProperties:
    """Settings that decide about an id."""

    mode: Mode
    configured: int | None = None
    """broker.id or node.id; None = not set, or -1."""
    dirs: tuple[str, ...]
    """log.dirs, and metadata.log.dir if the mode has one."""
    endpoints: frozenset[str] = frozenset()
    """`host:port` that the broker will advertise, as far as they are known."""
    migrating: bool = False
    is_controller: bool = False
    generation: bool = True
    reserved_max: int = 1000
    zookeeper_connect: str | None = None
    session_timeout_ms: int
    """How long a dead predecessor may stay registered."""
    has_carrier: bool = False
    """Whether COMMAND has a place for the id."""


def read_server_properties(path: str | Path, command: Sequence[str] = ()) -> ServerProperties:
    """Read the settings of a file and of the overrides of a command.

    Raises `InvalidConfig` for a file that cannot be read and for a value that Kafka rejects,
    `InvalidProperties` for a file that Java cannot read.
    """
    settings = parse_properties(read_bytes(path, error=InvalidConfig, max_bytes=MAX_BYTES))
    return server_properties(settings, command)


def server_properties(settings: Mapping[str, str], command: Sequence[str] = ()) -> ServerProperties:
    """Read the settings from keys and values. Raises `InvalidConfig`."""
    merged = {key: value.strip() for key, value in settings.items()}
    merged |= {key: value for key, value in _overrides(command) if CARRIER not in value}
    roles = _csv(merged.get("process.roles", ""))
    if unknown := [role for role in roles if role not in _ROLES]:
        raise _invalid("process.roles", " or ".join(_ROLES), unknown[0])
    mode = Mode.KRAFT if roles else Mode.ZOOKEEPER
    migrating = _boolean(merged, "zookeeper.metadata.migration.enable", default=False)
    is_kraft = mode is Mode.KRAFT
    return ServerProperties(
        mode=mode,
        configured=_configured(merged),
        dirs=_dirs(merged, with_metadata=is_kraft or migrating),
        endpoints=_endpoints(merged),
        migrating=migrating and not is_kraft,
        is_controller="controller" in roles,
        generation=_boolean(merged, "broker.id.generation.enable", default=True) and not is_kraft,
        reserved_max=_number(merged, "reserved.broker.max.id", 1000),
        zookeeper_connect=merged.get("zookeeper.connect") or None,
        session_timeout_ms=_number(merged, "broker.session.timeout.ms", 9_000)
        if is_kraft
        else _number(merged, "zookeeper.session.timeout.ms", 18_000),
        has_carrier=any(CARRIER in argument for argument in command),
    )


def _overrides(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return key and value of each override, in order."""
    arguments = iter(command)
    for argument in arguments:
        if argument == _OVERRIDE:
            pair = next(arguments, "")
        elif argument.startswith(f"{_OVERRIDE}="):
            pair = argument.removeprefix(f"{_OVERRIDE}=")
        else:
            continue
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise _invalid(_OVERRIDE, "KEY=VALUE", pair)
        yield key.strip(), value.strip()


def _configured(settings: Mapping[str, str]) -> int | None:
    ids = [_number(settings, key, -1) for key in ("broker.id", "node.id") if key in settings]
    if len(set(ids)) > 1:
        raise _invalid("node.id", f"the value of broker.id, {ids[0]},", str(ids[1]))
    return ids[0] if ids and ids[0] != -1 else None


def _dirs(settings: Mapping[str, str], *, with_metadata: bool) -> tuple[str, ...]:
    log_dirs = _csv(settings.get("log.dirs") or settings.get("log.dir", "/tmp/kafka-logs"))  # noqa: S108 (Kafka's default)
    if not log_dirs:
        raise _invalid("log.dirs", "at least one dir", "")
    if len(set(log_dirs)) < len(log_dirs):
        raise _invalid("log.dirs", "every dir once", ",".join(log_dirs))
    metadata = settings.get("metadata.log.dir", "") if with_metadata else ""
    return (*log_dirs, *({metadata} - {"", *log_dirs}))


def _endpoints(settings: Mapping[str, str]) -> frozenset[str]:
    key = "advertised.listeners" if settings.get("advertised.listeners") else "listeners"
    controllers = {name.upper() for name in _csv(settings.get("controller.listener.names", ""))}
    known = set()
    for uri in _csv(settings.get(key, "")):
        try:
            endpoint = listener_endpoint(uri)
        except ValueError:
            raise _invalid(key, "NAME://host:port", uri) from None
        is_broker = uri.partition("://")[0].upper() not in controllers
        if endpoint and is_broker and endpoint.rpartition(":")[0] not in _ANY_HOST:
            known.add(endpoint)
    return frozenset(known)


def _csv(text: str) -> list[str]:
    return [item for item in (part.strip() for part in text.split(",")) if item]


def _number(settings: Mapping[str, str], key: str, default: int) -> int:
    text = settings.get(key)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text):
        raise _invalid(key, "an integer", text)
    return int(text)


def _boolean(settings: Mapping[str, str], key: str, *, default: bool) -> bool:
    text = settings.get(key, str(default)).lower()
    if text not in {"true", "false"}:
        raise _invalid(key, "true or false", text)
    return text == "true"


def _invalid(key: str, wanted: str, had: str) -> InvalidConfig:
    shown = escaped(had) or "nothing"
    return InvalidConfig(
        f"invalid {key}: expected {wanted}, got {shown}",
        wanted=wanted,
        had=shown,
        hint="correct server.properties, or the overrides of the command",
        where=key,
    )
