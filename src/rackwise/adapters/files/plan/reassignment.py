"""Kafka's own reassignment JSON, read and written, and the cluster that it describes with racks.

```
{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,2,3],"log_dirs":["any","any","any"]}]}
```

Writing: compact, this key order, sorted by topic (as UTF-8 bytes), then by number. Reading, as
Kafka's own tool does it: `version` absent is 1, `log_dirs` absent is `any`; another log folder than
`any` is refused, since where a replica lies within a broker is nothing that racks decide.

Such a file and a CSV `broker,rack` make a cluster without topic ids and sizes: the leader is the
first replica, all replicas are in sync. Its brokers are those of the CSV; a replica on another id
is on a broker that is not listed, which an audit calls dead. An empty rack cell is a broker
without rack.

What this does not do: execute anything. Source: Kafka's ReassignPartitionsCommand,
`--reassignment-json-file`.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.snapshot.read import check_racks
from rackwise.adapters.files.tables.csv import table_of
from rackwise.adapters.files.writing import write_text
from rackwise.core.errors import InvalidPlan, InvalidSnapshot
from rackwise.core.json.declare import MAX_ID
from rackwise.core.json.faults import Fault, Faults, quoted
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import parse
from rackwise.core.model import Broker, Cluster, Partition, PartitionTable, Topic
from rackwise.core.racks import Rack
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


Placement: TypeAlias = "Mapping[tuple[str, int], tuple[int, ...]]"
"""(topic, partition) -> brokers, preferred leader first; in canonical order."""

VERSION = 1
ANY_LOG_DIR = "any"

_VERSIONS = "Kafka's rule: version 1 is the only one supported"
_NOT_EMPTY = "Kafka's rule: Partition reassignment list cannot be empty"
_NO_REPLICA = "Kafka's rule: Partition replica list cannot be empty"
_BROKER_TWICE = "Kafka's rule: Partition replica lists may not contain duplicate entries"
_PARTITION_TWICE = "Kafka's rule: no duplicate topic partitions in a reassignment"
_LOG_DIRS = "Kafka's rule: replicas and log_dirs are of one size; leave log_dirs out"
_MAX_DIGITS = 10


def read_reassignment(
    path: str | Path, racks: str | Path, *, taken_at: str, max_bytes: int = MAX_BYTES
) -> Cluster:
    """The cluster that a reassignment file and a CSV `broker,rack` tell.

    Raises `InvalidConfig` where a path is no readable regular file, `InvalidPlan` for what Kafka
    would refuse, `InvalidSnapshot` for a gap in the partitions and for the CSV, `InvalidRack`.
    """
    placement = read_placement(path, max_bytes=max_bytes)
    _check_gaps(placement, Faults(str(path), InvalidSnapshot))
    brokers = parse_racks(
        read_bytes(racks, error=InvalidSnapshot, max_bytes=max_bytes), where=str(racks)
    )
    names = dict.fromkeys(topic for topic, _ in placement)
    return Cluster(
        cluster_id=None,
        taken_at=taken_at,
        brokers=brokers,
        topics=MappingProxyType({name: Topic(name=name) for name in names}),
        partitions=PartitionTable.of(
            Partition(
                topic=topic,
                partition=partition,
                replicas=replicas,
                leader=replicas[0],
                isr=replicas,
            )
            for (topic, partition), replicas in placement.items()
        ),
        source="reassignment",
    )


def read_placement(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Placement:
    """The placement in a reassignment file.

    Raises `InvalidConfig` where the path is no readable regular file, `InvalidPlan`.
    """
    data = read_bytes(path, error=InvalidPlan, max_bytes=max_bytes)
    return parse_placement(data, where=str(path))


def parse_placement(data: bytes, *, where: str) -> Placement:
    """The placement in the content of a reassignment file. Raises `InvalidPlan`."""
    root = JsonNode(parse(data, where=where, error=InvalidPlan), Faults(where, InvalidPlan))
    fields = root.members(("partitions",), ("version",))
    version = fields["version"]
    if version.value is not None and (type(version.value) is not int or version.value != VERSION):
        version.wrong(f"version {VERSION}", hint=_VERSIONS)
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    if fields["partitions"].value == []:
        fields["partitions"].wrong("at least one partition", hint=_NOT_EMPTY)
    for item in fields["partitions"].items("a list of partitions"):
        topic, partition, replicas = _partition(item)
        if (topic, partition) in found and isinstance(item.value, dict):
            item.faults.add(
                Fault(
                    place=item.path,
                    sentence=f"expected each partition once, got {quoted(f'{topic}-{partition}')} "
                    "twice",
                    wanted=1,
                    had=2,
                    hint=_PARTITION_TWICE,
                )
            )
        found[topic, partition] = replicas
    root.faults.raise_if_any()
    return {key: found[key] for key in _in_order(found)}


def parse_racks(data: bytes, *, where: str) -> tuple[Broker, ...]:
    """Brokers of a CSV `broker,rack`, in id order. Raises `InvalidSnapshot`, `InvalidRack`."""
    table = table_of(data, where=where, error=InvalidSnapshot, required=("broker", "rack"))
    brokers: dict[int, Broker] = {}
    for row in table.rows:
        text = row["broker"]
        if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
            row.wrong("broker", "a broker id")
        elif int(text) > MAX_ID:
            row.wrong("broker", f"a broker id of at most {MAX_ID}")
        elif int(text) in brokers:
            row.wrong("broker", "a broker listed once", hint="keep one of its two lines")
        else:
            rack = Rack(row["rack"]) if row["rack"] else None
            brokers[int(text)] = Broker(id=int(text), rack=rack)
    table.faults.raise_if_any()
    check_racks(brokers.values(), where)
    return tuple(brokers[broker] for broker in sorted(brokers))


def reassignment_text(placement: Placement) -> str:
    """Kafka's own JSON of a placement, one line without a line feed."""
    partitions = [
        {
            "topic": topic,
            "partition": partition,
            "replicas": list(placement[topic, partition]),
            "log_dirs": [ANY_LOG_DIR] * len(placement[topic, partition]),
        }
        for topic, partition in _in_order(placement)
    ]
    return json.dumps(
        {"version": VERSION, "partitions": partitions}, separators=(",", ":"), ensure_ascii=False
    )


def write_reassignment(placement: Placement, path: str | Path) -> None:
    """Write Kafka's own JSON of a placement, whole or not at all.

    Raises `InvalidConfig`, `WorldError` where the path cannot be written.
    """
    write_text(path, reassignment_text(placement) + "\n")


def _in_order(keys: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(keys, key=lambda key: (key[0].encode(), key[1]))


def _partition(item: JsonNode) -> tuple[str, int, tuple[int, ...]]:
    fields = item.members(("topic", "partition", "replicas"), ("log_dirs",))
    replicas = fields["replicas"]
    brokers = tuple(node.broker_id() for node in replicas.items("a list of broker ids"))
    if isinstance(replicas.value, list) and not brokers:
        replicas.wrong("at least one broker", hint=_NO_REPLICA)
    if len(set(brokers)) < len(brokers):
        _tell_twice(replicas.items())
    _check_log_dirs(fields["log_dirs"], len(brokers))
    return (
        fields["topic"].name("a topic name"),
        fields["partition"].integer("a partition number", 0, MAX_ID),
        brokers,
    )


def _tell_twice(replicas: list[JsonNode]) -> None:
    seen: set[int] = set()
    for node in replicas:
        if type(node.value) is int and node.value in seen:
            node.wrong("each broker once", hint=_BROKER_TWICE)
        seen.add(node.value)


def _check_log_dirs(node: JsonNode, replicas: int) -> None:
    if node.value is None:
        return
    dirs = node.items('a list of "any"')
    for item in dirs:
        if item.value != ANY_LOG_DIR:
            item.wrong(f'"{ANY_LOG_DIR}"', hint="racks do not decide the log folder; leave it out")
    if isinstance(node.value, list) and len(dirs) != replicas:
        node.faults.add(
            Fault(
                place=node.path,
                sentence=f"expected {replicas} log_dirs, one for each replica, got {len(dirs)}",
                wanted=replicas,
                had=len(dirs),
                hint=_LOG_DIRS,
            )
        )


def _check_gaps(placement: Placement, faults: Faults) -> None:
    """A snapshot holds whole topics: partitions from 0 without a gap."""
    following: dict[str, int] = {}
    for topic, partition in placement:
        wanted = following.get(topic, 0)
        if partition != wanted:
            faults.add(
                Fault(
                    place=f"topic {escaped(topic)}",
                    sentence=f"expected partition {wanted}, got {partition}",
                    wanted=wanted,
                    had=partition,
                    hint="give all partitions of each topic; "
                    "kafka-reassign-partitions --generate prints them",
                )
            )
        following[topic] = partition + 1
    faults.raise_if_any()
