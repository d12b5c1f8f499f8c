"""Computes the savings of a whole fleet as one table.

Savings cannot be computed from single rows of CROSS_RACK, because an assignment or a choice of
leaders affects a whole cluster. One task therefore gets all flows of a cluster and its layout, and
`core.savings` computes the savings.

```
cross_rack  a a b a b  ->  task 1: a a a  +  layout a  ->  rows of a
layouts     a b        ->  task 2: b b    +  layout b  ->  rows of b
```

A task makes no Python object per flow: Arrow's dictionaries give `core.savings` codes, and rows of
the result become Arrow some thousands at a time.

What this does not do: read flows per partition. `core.savings.traffic.spread` spreads flows over
them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rackwise.core.savings import CAUSES, CONDITIONS, EPS, SEPARATOR, TOTAL, FlowColumns, Layout
from rackwise.core.savings import savings as savings_of
from rackwise.core.traffic import LEAST_S, exact_usd_text, known_sum, nano_of, per_month, usd_of
from rackwise.pipeline.columns.table_rows import leading
from rackwise.pipeline.fleet.layouts import cluster_of
from rackwise.pipeline.schemas import SAVINGS, UNKNOWN_RACK, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rackwise.core.savings import Saving
    from rackwise.core.traffic import Amount, Price

REASONS = 3
"""The maximum number of different reasons of a step, besides those in `CAUSES`."""
TOO_SHORT = (
    "less than one hour was observed, which is not extrapolated to 30 days: observe at least one "
    "hour, or add --extrapolate"
)
ESTIMATED = "estimated"
"""The quality of every row: bytes are spread over partitions."""
BATCH = 4096
"""Rows of SAVINGS that are Python objects and not yet Arrow."""
FLOW = ("day", "kind", "topic", "client_group", "quality", "from_rack", "to_rack", "bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingOptions:
    """What savings depend on besides traffic and layout; sent to tasks."""

    prices: tuple[Price, ...]
    """Rows of one provider."""
    levels: tuple[str, ...]
    """Names, coarsest first."""
    seconds: int | None
    """The duration of the traffic; None if it is too short to be extrapolated."""
    racks: tuple[str, ...]
    """The racks of the run."""
    eps: tuple[float, ...] = EPS
    unkeyed: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """This and `eps`: as in `core.savings`."""


def month_seconds(seconds: int, *, extrapolate: bool) -> int | None:
    """The seconds from which 30 days are extrapolated; None if they are too few."""
    return seconds if extrapolate or seconds >= LEAST_S else None


def savings_table(left: pa.Table, right: pa.Table, options: SavingOptions) -> pa.Table:
    """SAVINGS of one cluster; no rows if it has no traffic.

    `left`: rows with the columns of `FLOW`; `right`: the row of the cluster in `layout_table`.
    """
    schema = arrow_schema(SAVINGS)
    if not len(left):
        return schema.empty_table()
    (row,) = right.to_pylist()
    layout = Layout.of(cluster_of(row), lambda _, member: member.rack)
    result = savings_of(
        flow_columns(left),
        layout,
        prices=options.prices,
        levels=options.levels,
        eps=options.eps,
        unkeyed=options.unkeyed,
        racks=options.racks,
    )
    saved = (_row(row["cluster"], one, options.seconds) for one in result.rows())
    batches = []
    while some := list(islice(saved, BATCH)):
        batches.append(pa.RecordBatch.from_pylist(some, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def flow_columns(left: pa.Table) -> FlowColumns:
    """The columns of `FLOW` as codes and names. No Python object is made per row."""
    (days, day), (kinds, kind), (topics, topic), (groups, group), (qualities, quality) = (
        _encoded(left.column(name)) for name in FLOW[:5]
    )
    ends = (left.column(name) for name in ("from_rack", "to_rack"))
    (senders, sender), (receivers, receiver) = map(_encoded, ends)
    return FlowColumns(
        days=days,
        kinds=kinds,
        topics=topics,
        client_groups=groups,
        qualities=qualities,
        racks=tuple(None if rack == UNKNOWN_RACK else rack for rack in (*senders, *receivers)),
        day=day,
        kind=kind,
        topic=topic,
        client_group=group,
        quality=quality,
        from_rack=sender,
        to_rack=receiver + len(senders),
        bytes=left.column("bytes").to_numpy(),
    )


def _encoded(column: pa.ChunkedArray) -> tuple[tuple[Any, ...], NDArray[np.int32]]:
    """The different values of a column, and the code of each row."""
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    return tuple(encoded.dictionary.to_pylist()), encoded.indices.to_numpy()


def _row(cluster: str, one: Saving, seconds: int | None) -> dict[str, Any]:
    reasons = one.reasons if seconds is not None else (*one.reasons, TOO_SHORT)
    low, high = one.nano_low, one.nano_high
    return {
        "cluster": cluster,
        "topic": one.topic,
        "client_group": one.client_group,
        "saving": one.saving,
        "view": one.view,
        "eps": one.eps,
        "bytes_low": one.bytes_low,
        "bytes_high": one.bytes_high,
        "bytes_saved": _exact(one.bytes_low, one.bytes_high),
        "usd_low": usd_of(low),
        "usd_high": usd_of(high),
        "usd_saved": usd_of(_exact(low, high)),
        "usd_low_30d": usd_of(_monthly(low, seconds)),
        "usd_high_30d": usd_of(_monthly(high, seconds)),
        "usd_saved_30d": usd_of(_monthly(_exact(low, high), seconds)),
        "reason": SEPARATOR.join(reasons) or None,
        "load_factor": one.load_factor,
        "condition": one.condition,
        "quality": ESTIMATED,
    }


def _exact(low: Amount | None, high: Amount | None) -> Amount | None:
    """A value that is known exactly; None if it is a range."""
    return low if low == high else None


def _monthly(nano: int | None, seconds: int | None) -> int | None:
    return None if nano is None or seconds is None else per_month(nano, seconds)


def savings_part(rows: Sequence[Mapping[str, Any]], *, most: int, each: int = 0) -> dict[str, Any]:
    """The savings in the summary: one step per saving, view and bound over all clusters.

    `total`: the rows of the view `total`. `rows` in the result: the `most` rows of the other views
    that save most, and the `each` rows of every cluster that do, largest first.
    """
    steps: defaultdict[tuple[str, str, str | None], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["view"] != TOTAL:
            steps[row["view"], row["saving"], eps_text(row["eps"])].append(row)
    largest = sorted(
        (row for part in steps.values() for row in part if row["bytes_low"] or row["bytes_high"]),
        key=lambda row: (
            -max(row["usd_low"] or 0, row["usd_high"] or 0),
            -max(row["bytes_low"] or 0, row["bytes_high"]),
        ),
    )
    return {
        "total": _sums(row for row in rows if row["view"] == TOTAL),
        "steps": [
            {"view": view, "saving": saving, "eps": eps, **_sums(part), **_left_out(part)}
            for (view, saving, eps), part in steps.items()
        ],
        "conditions": dict(CONDITIONS),
        "count": len(largest),
        "rows": [_plain(row) for row in leading(largest, most=most, each=each)],
    }


def eps_text(eps: float | None) -> str | None:
    """A bound as text for JSON: `0.05`, `inf`.

    >>> eps_text(0.05), eps_text(0.0), eps_text(float("inf"))
    ('0.05', '0', 'inf')
    """
    return None if eps is None else f"{eps:g}"


def _sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums of a step. A value that is not known is None, never 0."""
    part = list(rows)
    sums: dict[str, Any] = {"bytes_low": _least(part, "bytes_low", "bytes_high")}
    sums["bytes_high"] = sum(row["bytes_high"] for row in part)
    sums["bytes_saved"] = _exact(sums["bytes_low"], sums["bytes_high"])
    for month in ("", "_30d"):
        low, high = f"usd_low{month}", f"usd_high{month}"
        least = _least(part, low, high)
        highs = [row[high] for row in part]
        most = None if None in highs or not highs else sum(highs, Decimal(0))
        sums |= {
            low: _dollars(least),
            high: _dollars(most),
            f"usd_saved{month}": _dollars(_exact(least, most)),
        }
    return sums | {"reason": _joined(row["reason"] for row in part)}


def _least(rows: Sequence[Mapping[str, Any]], low: str, high: str) -> Any:  # noqa: ANN401
    """The sum of the least values, bytes or dollars; None if it would be 0 and is not known."""
    return known_sum(
        (row[low] for row in rows), is_whole=all(row[low] == row[high] for row in rows)
    )


def _joined(reasons: Iterable[str | None]) -> str | None:
    """The different reasons of some rows, in the order of `CAUSES`, then all others."""
    found = dict.fromkeys(one for text in reasons if text for one in text.split(SEPARATOR))
    known = [cause for cause in CAUSES if cause in found]
    rest = [one for one in found if one not in known]
    return SEPARATOR.join([*known, *rest[:REASONS]]) or None


def _dollars(usd: Decimal | None) -> str | None:
    return None if usd is None else exact_usd_text(nano_of(usd))


def _left_out(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The highest load factor, and each different reason why parts of a change are left out."""
    factors = [row["load_factor"] for row in rows if row["load_factor"] is not None]
    known = set(CONDITIONS.values())
    reasons = dict.fromkeys(row["condition"] for row in rows if row["condition"] not in known)
    return {
        "load_factor": max(factors, default=None),
        "reasons": list(reasons)[:REASONS],
    }


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _dollars(value) if name.startswith("usd_") else value for name, value in row.items()
    } | {"eps": eps_text(row["eps"])}
