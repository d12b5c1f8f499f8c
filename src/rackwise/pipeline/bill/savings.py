"""Computes the savings of a whole fleet as one table.

Savings cannot be computed from single rows of CROSS_RACK, because an assignment or a choice of
leaders affects a whole cluster. One task therefore gets all flows of a cluster and its layout, and
`core.savings` computes the savings.

```
cross_rack  a a b a b  ->  task 1: a a a  +  layout a  ->  rows of a
layouts     a b        ->  task 2: b b    +  layout b  ->  rows of b
```

By default, Spark combines small groups and then processes clusters one after another. Spark keeps
the number of partitions only if the code sets that number.

What this does not do: read flows per partition (`core.savings.spread` spreads flows over them).
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from rackwise.core.savings import CONDITIONS, EPS, WATERFALL, Flow, Layout
from rackwise.core.savings import savings as savings_of
from rackwise.core.traffic import NANO, exact_usd_text, per_month
from rackwise.pipeline.fleet.layouts import cluster_of, layout_table
from rackwise.pipeline.ingest.tables import write_arrow
from rackwise.pipeline.runtime.session import large_batches
from rackwise.pipeline.schemas import SAVINGS, UNKNOWN_RACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.savings import Saving
    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf

MOST_TASKS = 256
"""Maximum number of partitions; each task has several clusters of a larger fleet."""
REASONS = 3
"""The maximum number of different reasons of a step."""
ESTIMATED = "estimated"
"""The quality of every row: bytes are spread over partitions."""
FLOW = ("day", "kind", "topic", "client_group", "quality", "from_rack", "to_rack", "bytes")


def savings(
    cross_rack: DataFrame,
    fleet: Fleet,
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    seconds: int,
    rack_of: RackOf,
    eps: Sequence[float] = EPS,
    unkeyed: Mapping[str, float] = {},
) -> DataFrame:
    """SAVINGS of CROSS_RACK, with the last snapshot of each cluster.

    `prices`: rows of one provider; `levels`: names, coarsest first; `seconds`: the duration of the
    traffic; `rack_of`: the rack of a member of a group; `eps`, `unkeyed`: as in `core.savings`.
    """
    tasks = min(len(fleet.latest), MOST_TASKS)
    frame = cross_rack.sparkSession.createDataFrame(layout_table(fleet.latest, rack_of))
    flows = cross_rack.select("cluster", *FLOW).repartition(tasks, "cluster")

    def saved(left: pa.Table, right: pa.Table) -> pa.Table:
        rows = _rows(
            left, right, prices=prices, levels=levels, seconds=seconds, eps=eps, unkeyed=unkeyed
        )
        return pa.Table.from_pylist(list(rows), schema=to_arrow_schema(SAVINGS, timezone="UTC"))

    return (
        flows.groupBy("cluster")
        .cogroup(frame.repartition(tasks, "cluster").groupBy("cluster"))
        .applyInArrow(saved, SAVINGS)
    )


def _rows(
    left: pa.Table,
    right: pa.Table,
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    seconds: int,
    eps: Sequence[float],
    unkeyed: Mapping[str, float],
) -> Iterator[dict[str, Any]]:
    """Rows of SAVINGS of one cluster; none if it has no traffic."""
    if not len(left):
        return
    (row,) = right.to_pylist()
    layout = Layout.of(cluster_of(row), lambda _, member: member.rack)
    columns = left.select(FLOW).to_pydict().values()
    flows = [_flow(*cells) for cells in zip(*columns, strict=True)]
    result = savings_of(flows, layout, prices=prices, levels=levels, eps=eps, unkeyed=unkeyed)
    for one in result.rows:
        yield _row(row["cluster"], one, seconds)


def _flow(*cells: Any) -> Flow:  # noqa: ANN401 (cells of FLOW)
    flow = Flow(*cells)
    sender, receiver = (
        None if rack == UNKNOWN_RACK else rack for rack in (flow.from_rack, flow.to_rack)
    )
    return flow._replace(from_rack=sender, to_rack=receiver)


def _row(cluster: str, one: Saving, seconds: int) -> dict[str, Any]:
    nano = one.usd_nano
    return {
        "cluster": cluster,
        "topic": one.topic,
        "client_group": one.client_group,
        "saving": one.saving,
        "view": one.view,
        "eps": one.eps,
        "bytes_saved": one.bytes_saved,
        "usd_saved": None if nano is None else Decimal(nano).scaleb(-9),
        "usd_saved_30d": None if nano is None else Decimal(per_month(nano, seconds)).scaleb(-9),
        "load_factor": one.load_factor,
        "condition": one.condition,
        "quality": ESTIMATED,
    }


def saving_rows(spark: SparkSession, saved: DataFrame, path: str) -> list[dict[str, Any]]:
    """Writes SAVINGS to `path`; returns its rows in order of the clusters. A Spark action."""
    with large_batches(spark):
        table = saved.toArrow()
    rows: list[dict[str, Any]] = sorted(table.to_pylist(), key=lambda row: str(row["cluster"]))
    ordered = pa.Table.from_pylist(rows, schema=to_arrow_schema(SAVINGS, timezone="UTC"))
    write_arrow(spark, ordered, path, SAVINGS)
    return rows


def savings_part(rows: Sequence[Mapping[str, Any]], *, most: int) -> dict[str, Any]:
    """The savings in the summary: one step per saving, view and bound over all clusters.

    `rows` in the result: the `most` largest rows that save bytes, largest first.
    """
    steps: defaultdict[tuple[str, str, str | None], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        steps[row["view"], row["saving"], eps_text(row["eps"])].append(row)
    largest = sorted(
        (row for row in rows if row["bytes_saved"]),
        key=lambda row: (-(row["usd_saved"] or 0), -row["bytes_saved"]),
    )
    whole = [row for row in rows if row["view"] == WATERFALL]
    return {
        "total": _sums(whole),
        "steps": [
            {"view": view, "saving": saving, "eps": eps, **_sums(part), **_reasons(part)}
            for (view, saving, eps), part in steps.items()
        ],
        "conditions": dict(CONDITIONS),
        "count": len(largest),
        "rows": [_plain(row) for row in largest[:most]],
    }


def eps_text(eps: float | None) -> str | None:
    """A bound as text for JSON: `0.05`, `inf`.

    >>> eps_text(0.05), eps_text(0.0), eps_text(float("inf"))
    ('0.05', '0', 'inf')
    """
    return None if eps is None else f"{eps:g}"


def _sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    part = list(rows)
    return {
        "bytes_saved": sum(row["bytes_saved"] for row in part),
        **{name: _dollars(row[name] for row in part) for name in ("usd_saved", "usd_saved_30d")},
    }


def _dollars(values: Iterable[Decimal | None]) -> str | None:
    known = [value for value in values if value is not None]
    return exact_usd_text(int(sum(known, Decimal(0)) * NANO)) if known else None


def _reasons(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The highest load factor, and each different reason why parts of a change are left out."""
    factors = [row["load_factor"] for row in rows if row["load_factor"] is not None]
    known = set(CONDITIONS.values())
    reasons = dict.fromkeys(row["condition"] for row in rows if row["condition"] not in known)
    return {
        "load_factor": max(factors, default=None),
        "reasons": list(reasons)[:REASONS],
    }


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    money = ("usd_saved", "usd_saved_30d")
    return {
        **row,
        "eps": eps_text(row["eps"]),
        **{name: _dollars([row[name]]) for name in money},
    }
