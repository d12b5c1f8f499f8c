"""The state of a cluster at one moment, read through the Admin API (4.x, and 3.x on ZooKeeper).

Goals, in order: never mix two states of the cluster without a note; never show zero for what is not
visible; send few requests: one per live broker for sizes, one for configs, two for offsets.

```
brokers, reassignments -> topics -> sizes, offsets -> configs, tails -> groups
          '----- equal? ----------------- reassignments, brokers again <----'
                   yes: done        no: read all again, three times at most, then note `torn`
```

A broker is live when it is listed and not fenced. The protocol before KIP-1073, and every cluster
on ZooKeeper, does not report fenced brokers: there `is_fenced` is None, and listed means live. A
replica may be on a broker that is not listed; that broker is dead and its rack is unknown.

The controller knows a running reassignment before every broker does. Its replica list is taken from
the controller; where in-sync replicas or leader lie outside it, the reading is inconsistent and
repeated.

What this does not do: judge (`core.audit`), or change anything.

Source: KIP-36, KIP-455 (reassignments), KIP-827 (sizes of log folders), KIP-1073 (fenced brokers).
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rackwise.adapters.clock import epoch_clock
from rackwise.adapters.kafka.configs import no_configs, read_configs
from rackwise.adapters.kafka.connect import ask
from rackwise.adapters.kafka.groups import read_groups
from rackwise.adapters.kafka.logs.read import read_logs
from rackwise.adapters.kafka.logs.tails import read_tails
from rackwise.adapters.kafka.topics import read_layout, read_reassignments
from rackwise.core.errors import InvalidConfig
from rackwise.core.model import Broker, Cluster, Note
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.adapters.kafka.configs import SeenConfigs
    from rackwise.adapters.kafka.logs.read import SeenLogs
    from rackwise.adapters.kafka.topics import TopicLayout
    from rackwise.core.model import Group, LogDir, LogTail

READINGS = 3
"""Readings of a changing cluster before its snapshot is noted as torn."""


def read_cluster(
    admin: KafkaAdminClient,
    *,
    taken_at: str,
    topics: Sequence[str] = ("*",),
    sizes: bool = True,
    configs: bool = True,
    groups: bool = False,
    offsets: bool = False,
    resolve: Callable[[str], Sequence[str]] | None = None,
    progress: Callable[[int], None] | None = None,
    clock_ms: Callable[[], int] | None = None,
) -> Cluster:
    """The cluster behind `admin`, limited to topics that match a glob of `topics`.

    `taken_at`: UTC, ISO 8601 with `Z`. `resolve`: host name -> IP addresses, for flow logs; a host
    that is an IP address needs none. `progress(count)` is called when brokers answer. `offsets`:
    also read offsets, tails of compacted topics, commits of groups, and when each broker answered
    by `clock_ms`, milliseconds since 1970 (default: `epoch_clock`). What is not visible is in
    `.notes`. Raises `Unreachable`, `AuthenticationFailed`, `MissingPermission`, `ServerRefused`;
    `InvalidConfig` where `topics` is empty. Racks are verbatim, whatever they say.
    """
    if not topics:
        raise InvalidConfig(
            "invalid topics: expected a topic glob, got none",
            hint="omit the option to read all topics",
        )
    options = _ReadOptions(
        topics=tuple(topics),
        sizes=sizes,
        configs=configs,
        groups=groups,
        offsets=offsets,
        progress=progress or _ignore_progress,
        clock_ms=clock_ms or epoch_clock(),
    )
    seen = _read_once(admin, options)
    for _ in range(READINGS - 1):
        if seen.is_whole:
            break
        seen = _read_once(admin, options)
    brokers = tuple(_broker(each, seen.logs.log_dirs, resolve) for each in seen.description.brokers)
    return Cluster(
        cluster_id=seen.description.cluster_id,
        taken_at=taken_at,
        brokers=brokers,
        topics=MappingProxyType(
            {
                topic.name: replace(
                    topic,
                    min_insync_replicas=seen.configs.min_insync_replicas.get(topic.name),
                    retention_bytes=seen.configs.retention_bytes.get(topic.name),
                    retention_ms=seen.configs.retention_ms.get(topic.name),
                    cleanup_policy=seen.configs.cleanup_policy.get(topic.name),
                    tails=seen.tails.get(topic.name, ()),
                )
                for topic in seen.layout.topics
            }
        ),
        partitions=seen.logs.table,
        groups=seen.groups,
        configs=seen.configs.configs,
        notes=(
            *_torn(seen),
            *seen.notes,
            *_unmatched(seen, options),
            *_unresolved(brokers, resolve),
        ),
        answered=seen.logs.answered,
    )


def read_brokers(admin: KafkaAdminClient) -> tuple[Broker, ...]:
    """The brokers alone, in id order, fenced ones included; raises what `ask` raises."""
    return tuple(_broker(each, {}, None) for each in _describe(admin).brokers)


def resolved_addresses(host: str) -> tuple[str, ...]:
    """The current IP addresses of a host in DNS, sorted; empty where it has none."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return ()
    addresses = {ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found}
    return tuple(str(each) for each in sorted(addresses, key=lambda a: (a.version, int(a))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadOptions:
    topics: tuple[str, ...]
    sizes: bool
    configs: bool
    groups: bool
    offsets: bool
    progress: Callable[[int], None]
    clock_ms: Callable[[], int]

    def is_wanted(self, topic: str) -> bool:
        return any(fnmatchcase(topic, glob) for glob in self.topics)


@dataclass(frozen=True, slots=True)
class _Description:
    cluster_id: str | None
    brokers: tuple[Mapping[str, Any], ...]

    @property
    def live(self) -> list[int]:
        return [each["broker_id"] for each in self.brokers if not each.get("is_fenced")]


@dataclass(frozen=True, slots=True)
class _Reading:
    description: _Description
    layout: TopicLayout
    logs: SeenLogs
    configs: SeenConfigs
    tails: Mapping[str, tuple[LogTail, ...]]
    groups: tuple[Group, ...]
    notes: tuple[Note, ...]
    is_whole: bool


def _ignore_progress(_: int) -> None:
    """Ignore the progress."""


def _read_once(admin: KafkaAdminClient, options: _ReadOptions) -> _Reading:
    """One reading, between two readings of brokers and reassignments."""
    description = _describe(admin)
    reassignments = read_reassignments(admin)
    layout = read_layout(admin, options.is_wanted, reassignments)
    options.progress(1)
    table, live, progress = layout.table, description.live, options.progress
    logs = read_logs(
        admin,
        layout,
        live,
        sizes=options.sizes,
        offsets=options.offsets,
        is_wanted=options.is_wanted,
        clock_ms=options.clock_ms,
        progress=progress,
    )
    configs = (
        read_configs(admin, table.topics, live, progress=progress)
        if options.configs
        else no_configs()
    )
    compacted = {
        topic.name: topic.id
        for topic in layout.topics
        if "compact" in configs.cleanup_policy.get(topic.name, "")
    }
    tails, tail_notes = (
        read_tails(admin, logs.table, compacted, progress=progress) if options.offsets else ({}, ())
    )
    groups, group_notes = (
        read_groups(
            admin,
            table,
            live,
            progress=progress,
            commit_clock_ms=options.clock_ms if options.offsets else None,
        )
        if options.groups
        else ((), ())
    )
    return _Reading(
        description=description,
        layout=layout,
        logs=logs,
        configs=configs,
        tails=tails,
        groups=groups,
        notes=(*layout.notes, *logs.notes, *configs.notes, *tail_notes, *group_notes),
        is_whole=layout.is_consistent
        and read_reassignments(admin) == reassignments
        and _describe(admin) == description,
    )


def _describe(admin: KafkaAdminClient) -> _Description:
    found = ask(admin, admin.describe_cluster, doing="describe itself")
    return _Description(
        cluster_id=found["cluster_id"],
        brokers=tuple(sorted(found["brokers"], key=lambda each: each["broker_id"])),
    )


def _broker(
    found: Mapping[str, Any],
    log_dirs: Mapping[int, tuple[LogDir, ...]],
    resolve: Callable[[str], Sequence[str]] | None,
) -> Broker:
    is_fenced, rack = found.get("is_fenced"), found["rack"]
    return Broker(
        id=found["broker_id"],
        rack=Rack(rack) if rack is not None else None,
        is_live=not is_fenced,
        is_fenced=is_fenced,
        host=found["host"],
        port=found["port"],
        addresses=_addresses(found["host"], resolve),
        log_dirs=log_dirs.get(found["broker_id"], ()),
    )


def _addresses(host: str, resolve: Callable[[str], Sequence[str]] | None) -> tuple[str, ...]:
    try:
        return (str(ipaddress.ip_address(host)),)
    except ValueError:
        return () if resolve is None else tuple(resolve(host))


def _torn(seen: _Reading) -> tuple[Note, ...]:
    if seen.is_whole:
        return ()
    return (
        Note(
            kind="torn",
            text=f"brokers or reassignments changed during each of {READINGS} readings; "
            "parts of this snapshot are of different moments",
        ),
    )


def _unmatched(seen: _Reading, options: _ReadOptions) -> tuple[Note, ...]:
    return tuple(
        Note(kind="not-visible", text=f"no topic that matches {glob} is visible to this principal")
        for glob in options.topics
        if glob != "*" and not any(fnmatchcase(topic, glob) for topic in seen.layout.table.topics)
    )


def _unresolved(
    brokers: Sequence[Broker], resolve: Callable[[str], Sequence[str]] | None
) -> tuple[Note, ...]:
    if resolve is None:
        return ()
    return tuple(
        Note(kind="not-visible", text=f"broker {broker.id}: host {broker.host} has no IP address")
        for broker in brokers
        if not broker.addresses
    )
