"""Files that name new replica lists, and are no plan of this tool.

```
{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,2]}]}    Kafka's JSON
{"format":"rackwise.placement/1","topic":"orders","rows":[[1,2],[2,3]],..}         rackwise place
{"format":"rackwise.placements/1","topics":[{"topic":"orders",..},..],..}          --all-topics
```

A file has one such document, or one on each line. A partition may appear once. A list may be
empty: then there is nothing to do. A document of `rackwise place` may name its cluster.

What this does not do: compare anything with a cluster.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.adapters.files.plan.reassignment import Placement, parse_placement
from rackwise.core.errors import InvalidPlan
from rackwise.core.json.canonical import sha256_of
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.node import document
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.json.declare import BrokerIds, PartitionNumber, TopicName
    from rackwise.core.json.node import JsonNode
    from rackwise.core.model import PartitionId

PLACEMENT = "rackwise.placement/1"
PLACEMENTS = "rackwise.placements/1"

_IS_PLAN = re.compile(rb'"format"\s*:\s*"rackwise\.plan/')
_IS_PLACEMENT = re.compile(rb'"format"\s*:\s*"rackwise\.placement/')
_IS_PLACEMENTS = re.compile(rb'"format"\s*:\s*"rackwise\.placements/')


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRows:
    """What a document of `rackwise place` says of its topic."""

    topic: TopicName
    first_partition: PartitionNumber
    """Partition of the first row."""
    rows: tuple[BrokerIds, ...]
    """Brokers of each partition, preferred leader first."""
    cluster_id: str | None = None
    """Id of the cluster that the brokers are of; None: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRowsOfTopics:
    """What a document of `rackwise place --all-topics` says of its topics."""

    topics: tuple[PlacedRows, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLists:
    """The replica lists in a file."""

    lists: Placement
    cluster_ids: tuple[str, ...] = ()
    """Ids of the clusters that its documents name, each once."""


def _check_rows(placed: PlacedRows, root: JsonNode) -> None:
    for index, row in enumerate(placed.rows):
        if not row or len(set(row)) < len(row):
            root.at("rows").at(index).wrong("at least one broker, and each broker once")


CODEC = Codec(
    rules={
        PlacedRows: ObjectRules(
            constants={"format": PLACEMENT},
            check=_check_rows,
            is_open=True,
            reads_absent_as_null=True,
        ),
        PlacedRowsOfTopics: ObjectRules(constants={"format": PLACEMENTS}, is_open=True),
    }
)
PLACED_ROWS = CODEC.object(PlacedRows)
"""The form of a document of `rackwise place --json --topic NAME`."""
ALL_PLACED_ROWS = CODEC.object(PlacedRowsOfTopics)
"""The form of a document of `rackwise place --json --all-topics GLOB`."""


def is_plan(data: bytes) -> bool:
    """Whether a file is a plan of this tool, and not lists that somebody else chose."""
    return _IS_PLAN.search(data) is not None


def parse_targets(data: bytes, *, where: str) -> ForeignLists:
    """The replica lists in a file: one document, or one on each line. Raises `InvalidPlan`."""
    lines = [line for line in data.splitlines() if line.strip()]
    if len(lines) < 2 or not all(_is_whole(line) for line in lines):  # noqa: PLR2004 (one document)
        documents = {where: data}
    else:
        documents = {f"{where}:{number}": line for number, line in enumerate(lines, start=1)}
    found: dict[PartitionId, tuple[int, ...]] = {}
    clusters: dict[str, None] = {}
    for place, text in documents.items():
        for one in _document(text, place):
            clusters |= dict.fromkeys(one.cluster_ids)
            for which, replicas in one.lists.items():
                if which in found:
                    raise _repeated(which, place)
                found[which] = replicas
    return ForeignLists(lists=found, cluster_ids=tuple(clusters))


def _repeated(which: PartitionId, where: str) -> InvalidPlan:
    name = escaped(f"{which[0]}-{which[1]}")
    return InvalidPlan(
        f"invalid {where}: expected each partition once, got {name} twice",
        wanted=1,
        had=2,
        hint="keep one of the lists that name it",
        where=where,
    )


def _is_whole(line: bytes) -> bool:
    text = line.strip()
    return text.startswith(b"{") and text.endswith(b"}")


def _document(data: bytes, where: str) -> Iterator[ForeignLists]:
    """The replica lists of a document; one part for each topic that `rackwise place` names."""
    if _IS_PLACEMENTS.search(data):
        root = document(data, where=where, error=InvalidPlan, format=PLACEMENTS)
        several: PlacedRowsOfTopics = ALL_PLACED_ROWS.read(root)
        topics = several.topics
    elif _IS_PLACEMENT.search(data):
        root = document(data, where=where, error=InvalidPlan, format=PLACEMENT)
        topics = (PLACED_ROWS.read(root),)
    else:
        yield ForeignLists(lists=parse_placement(data, where=where, may_be_empty=True))
        return
    root.faults.raise_if_any()
    for placed in topics:
        lists = {
            (placed.topic, placed.first_partition + index): row
            for index, row in enumerate(placed.rows)
        }
        named = () if placed.cluster_id is None else (placed.cluster_id,)
        yield ForeignLists(lists=lists, cluster_ids=named)


def targets_sha256(targets: Placement) -> str:
    """SHA-256 of the lists, whatever the form of the file; by it their plan is found again."""
    return sha256_of([[topic, number, [*row]] for (topic, number), row in sorted(targets.items())])
