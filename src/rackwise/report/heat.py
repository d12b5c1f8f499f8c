r"""Rack x rack heat tables of bytes from rack to rack, one table per cluster and level.

```
from \ to     use1-az1     use1-az2     all that crosses
use1-az1        local       18.0 GiB        18.0 GiB
                             $0.36           $0.36
use1-az2      12.0 GiB        local         12.0 GiB
```

The warmth of a cell is its share of the largest crossing cell, in eight steps. Each cell also shows
its number, so that colour is never the only sign. The sums count crossing bytes only. Local bytes
and bytes with an unknown end appear in their cells and are not part of any sum. The dollars of a
sum are `at least` the known ones if one of its cells has no price.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

from rackwise.report.formats import count_of, cut, name_text
from rackwise.report.ranges import Range
from rackwise.report.tables import Cell, bytes_cell, total, usd_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, Any]
    Crossing = Literal["cross", "local", "unknown"]

UNKNOWN_RACK: Final = "(unknown)"
STEPS: Final = 8
RACKS: Final = 16
"""Maximum racks per side; more do not fit on a page."""
HALF_WIDTH: Final = 4
"""Maximum receivers of a map that takes half of the width of the page."""
USUAL: Final = 10
"""Maximum receivers of a map with letters of the usual size."""
HEAD_COLUMNS: Final = 40
MAPS: Final = 6
"""Maximum heat tables on a page; a file holds the others."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """Bytes and dollars from one rack to another."""

    crossing: Crossing
    bytes: Cell
    usd: Cell | None
    step: int | None = None
    """Warmth from 0 (cold) to 8; None for a cell without warmth."""


@dataclass(frozen=True, slots=True)
class HeatRow:
    """The bytes that one rack sends: one cell per column of the map, then the crossing sum."""

    rack: Cell
    """The sender."""
    cells: tuple[HeatCell | None, ...]
    """One per receiver of the map; None if no bytes were sent to it."""
    crossing: HeatCell
    """The sum of the crossing bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """The heat table of one cluster at one level."""

    id: str
    cluster: str
    level: str
    """Name of the level."""
    racks: tuple[Cell, ...]
    """The receivers, one per column."""
    rows: tuple[HeatRow, ...]
    """The senders."""
    received: tuple[HeatCell, ...]
    """The crossing sum of each column."""
    crossing: HeatCell
    """The sum of all crossing bytes."""
    hidden: str | None
    """A note about racks that are not shown; None if all are shown."""
    sums: Mapping[str, object]
    """Exact totals of all pairs, including pairs that are not shown."""

    @property
    def is_wide(self) -> bool:
        """Whether the map takes the whole width of the page."""
        return len(self.racks) > HALF_WIDTH

    @property
    def is_dense(self) -> bool:
        """Whether the map needs small letters to fit the width of the page."""
        return len(self.racks) > USUAL


def crossing_of(from_rack: str, to_rack: str) -> Crossing:
    """Whether bytes between two racks cross; a rack and its ancestor are local to each other.

    >>> crossing_of("/eu/a", "/eu/b"), crossing_of("/eu/a", "/eu"), crossing_of("a", "(unknown)")
    ('cross', 'local', 'unknown')
    """
    ends = {from_rack, to_rack}
    if ends & {UNKNOWN_RACK, ""}:
        return "unknown"
    short, long = sorted(ends, key=len) if len(ends) > 1 else (from_rack, from_rack)
    is_inside = short.startswith("/") and long.startswith(f"{short.rstrip('/')}/")
    return "local" if short == long or is_inside else "cross"


def heat_maps(matrix: Sequence[Row]) -> tuple[tuple[HeatMap, ...], int]:
    """The most expensive maps by cluster and level, and the number of maps left out.

    Clusters are in descending order of cost; the levels of each start with the coarsest.
    """
    groups: dict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for row in matrix:
        groups[row["cluster"], row["level"], row["level_name"]].append(row)
    cost: dict[str, tuple[Decimal, int]] = defaultdict(lambda: (Decimal(0), 0))
    for (cluster, _, _), rows in groups.items():
        crossing = [row for row in rows if _crossing(row) == "cross"]
        amount = Decimal(total(row["usd"] for row in crossing) or 0)
        cost[cluster] = max(cost[cluster], (amount, sum(row["bytes"] for row in crossing)))
    order = sorted(groups, key=lambda key: (-cost[key[0]][0], -cost[key[0]][1], key))
    maps = tuple(
        _heat_map(number, key, groups[key]) for number, key in enumerate(order[:MAPS], start=1)
    )
    return maps, len(order) - len(maps)


def _crossing(row: Row) -> Crossing:
    return crossing_of(row["from_rack"], row["to_rack"])


def _heat_map(number: int, key: tuple[str, int, str], rows: Sequence[Row]) -> HeatMap:
    cluster, level, name = key
    weight: dict[str, int] = defaultdict(int)
    for row in rows:
        for rack in {row["from_rack"], row["to_rack"]}:
            weight[rack] += row["bytes"]
    heaviest = sorted(weight, key=lambda rack: (rack == UNKNOWN_RACK, -weight[rack], rack))
    racks = sorted(heaviest[:RACKS], key=lambda rack: (rack == UNKNOWN_RACK, rack))
    pairs = {(row["from_rack"], row["to_rack"]): row for row in rows}
    crossing = [row for row in rows if _crossing(row) == "cross"]
    hottest = max((row["bytes"] for row in crossing), default=0)
    senders = [a for a in racks if any((a, b) in pairs for b in racks)]
    receivers = [b for b in racks if any((a, b) in pairs for a in racks)]
    return HeatMap(
        id=f"heat-{number}",
        cluster=name_text(cluster),
        level=name_text(name) if name else f"level {level}",
        racks=tuple(_head(rack) for rack in receivers),
        rows=tuple(
            HeatRow(
                _head(a),
                tuple(_cell(pairs[a, b], hottest) if (a, b) in pairs else None for b in receivers),
                _sum([row for row in crossing if row["from_rack"] == a]),
            )
            for a in senders
        ),
        received=tuple(_sum([row for row in crossing if row["to_rack"] == b]) for b in receivers),
        crossing=_sum(crossing),
        hidden=_hidden(len(weight) - len(racks)),
        sums={
            "level": level,
            "bytes": sum(row["bytes"] for row in rows),
            "bytes-cross": sum(row["bytes"] for row in crossing),
            "usd": total(row["usd"] for row in rows),
        },
    )


def _head(rack: str) -> Cell:
    name = name_text(rack)
    short = cut(name, HEAD_COLUMNS)
    return Cell(short, name if short != name else None)


def _hidden(racks: int) -> str | None:
    return f"{count_of(racks, 'more rack')} in csv/by_pair.csv" if racks else None


def _cell(row: Row, hottest: int) -> HeatCell:
    kind = _crossing(row)
    if kind != "cross":
        return HeatCell(kind, bytes_cell(row["bytes"]), None)
    step = round(STEPS * row["bytes"] / hottest) if hottest else 0
    return HeatCell(kind, bytes_cell(row["bytes"]), usd_cell(row["usd"]), max(0, step))


def _sum(rows: Sequence[Row]) -> HeatCell:
    return HeatCell(
        "cross",
        bytes_cell(sum(row["bytes"] for row in rows)),
        _usd_of_all(rows) if rows else None,
    )


def _usd_of_all(rows: Sequence[Row]) -> Cell:
    """The dollars of all rows: at least the known ones if bytes of a row have no price."""
    usd = total(row["usd"] for row in rows)
    cell = usd_cell(None if usd is None else str(usd))
    if usd is None or all(row["usd"] is not None or not row["bytes"] for row in rows):
        return cell
    return replace(cell, text=Range(cell.text, None).phrase())
