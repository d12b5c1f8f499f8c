"""Kafka's own reassignment JSON, read and written, and the cluster that it describes with racks.

```
{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,2,3],"log_dirs":["any","any","any"]}]}
```

Writing: compact, this key order, sorted by topic (as UTF-8 bytes), then by number. Reading, as
Kafka's own tool does it: `version` absent is 1, `log_dirs` absent is `any`; another log folder than
`any` is rejected, because racks do not decide where a replica lies within a broker.

Such a file and a CSV `broker,rack` make a cluster without topic ids and sizes: the leader is the
first replica, all replicas are in sync. Its brokers are those of the CSV; a replica on another id
is on a broker that is not listed, which an audit calls dead. An empty rack cell is a broker
without rack.

What this does not do: execute anything. Source: Kafka's ReassignPartitionsCommand,
`--reassignment-json-file`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.csv import table_of
from rackwise.adapters.files.writing import write_text
from rackwise.core.errors import InvalidPlan, InvalidSnapshot
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import (
    MAX_ID,
    OMITTED,
    BrokerIds,
    PartitionNumber,
    Says,
    TopicName,
)
from rackwise.core.json.faults import Fault, Faults, quoted
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import parse
from rackwise.core.model import Broker, Cluster, Partition, PartitionTable, Topic
from rackwise.core.racks import Rack
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rackwise.core.model import PartitionId


Placement: TypeAlias = "Mapping[PartitionId, tuple[int, ...]]"
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


AnyLogDir: TypeAlias = Annotated[
    Literal["any"], Says(f'"{ANY_LOG_DIR}"', "racks do not decide the log folder; leave it out")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignedPartition:
    """One partition of a reassignment file."""

    topic: TopicName
    partition: PartitionNumber
    replicas: BrokerIds
    """Preferred leader first."""
    log_dirs: Annotated[tuple[AnyLogDir, ...] | None, OMITTED] = None
    """One for each replica; None: `any` for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentDocument:
    """A reassignment file."""

    version: Annotated[object, OMITTED] = None
    """1, or absent."""
    partitions: Annotated[tuple[ReassignedPartition, ...], Says("a list of partitions")]


def _check_document(document: ReassignmentDocument, root: JsonNode) -> None:
    version = document.version
    if version is not None and (type(version) is not int or version != VERSION):
        root.at("version").wrong(f"version {VERSION}", hint=_VERSIONS)
    seen: set[PartitionId] = set()
    for index, each in enumerate(document.partitions):
        key = (each.topic, each.partition)
        # A value that is no object has stand-ins, which say nothing about the document.
        if key in seen and isinstance(root.value["partitions"][index], dict):
            name = quoted(f"{each.topic}-{each.partition}")
            root.faults.add(
                Fault(
                    place=root.at("partitions").at(index).path,
                    sentence=f"expected each partition once, got {name} twice",
                    wanted=1,
                    had=2,
                    hint=_PARTITION_TWICE,
                )
            )
        seen.add(key)


def _check_partition(partition: ReassignedPartition, item: JsonNode) -> None:
    replicas = partition.replicas
    if not replicas:
        item.at("replicas").wrong("at least one broker", hint=_NO_REPLICA)
    if len(set(replicas)) < len(replicas):
        at, seen = item.at("replicas"), set[int]()
        for index, broker in enumerate(replicas):
            if broker in seen:
                at.at(index).wrong("each broker once", hint=_BROKER_TWICE)
            seen.add(broker)
    if partition.log_dirs is not None and len(partition.log_dirs) != len(replicas):
        had = len(partition.log_dirs)
        item.faults.add(
            Fault(
                place=item.at("log_dirs").path,
                sentence=f"expected {len(replicas)} log_dirs, one for each replica, got {had}",
                wanted=len(replicas),
                had=had,
                hint=_LOG_DIRS,
            )
        )


REASSIGNMENT = Codec(
    rules={
        ReassignmentDocument: ObjectRules(check=_check_document, checks_faulty=True),
        ReassignedPartition: ObjectRules(check=_check_partition),
    }
).object(ReassignmentDocument)


def read_reassignment(
    path: str | Path, racks: str | Path, *, taken_at: str, max_bytes: int = MAX_BYTES
) -> Cluster:
    """Return the cluster that a reassignment file and a CSV `broker,rack` describe.

    Raises `InvalidConfig` if a path is no readable regular file, `InvalidPlan` for what Kafka
    rejects, `InvalidSnapshot` for a gap in the partitions and for the CSV.
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


def parse_placement(data: bytes, *, where: str, may_be_empty: bool = False) -> Placement:
    """The placement in the content of a reassignment file. Raises `InvalidPlan`.

    `may_be_empty`: a list without partitions is accepted, which Kafka's tool verifies and does not
    execute; a plan with nothing to move is written so.
    """
    faults = Faults(where, InvalidPlan)
    root = JsonNode(parse(data, where=where, error=InvalidPlan), faults)
    document: ReassignmentDocument = REASSIGNMENT.read(root)
    if not may_be_empty and isinstance(root.value, dict) and root.value.get("partitions") == []:
        root.at("partitions").wrong("at least one partition", hint=_NOT_EMPTY)
    faults.raise_if_any()
    found = {(each.topic, each.partition): each.replicas for each in document.partitions}
    return {key: found[key] for key in _in_order(found)}


def parse_racks(data: bytes, *, where: str) -> tuple[Broker, ...]:
    """Brokers of a CSV `broker,rack`, in id order. Raises `InvalidSnapshot`."""
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
    return tuple(brokers[broker] for broker in sorted(brokers))


def reassignment_text(placement: Placement) -> str:
    """Kafka's own JSON of a placement, one line without a line feed."""
    # Without a form: a plan may have a million moves, and an object for each takes as long again.
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


def _in_order(keys: Iterable[PartitionId]) -> list[PartitionId]:
    return sorted(keys, key=lambda key: (key[0].encode(), key[1]))


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
