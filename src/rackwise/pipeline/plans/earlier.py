"""Clusters of an earlier run that this run does not read: what was found about them stays.

A result may be made of several runs, one for each cluster or team. A run replaces what it computed;
of the other clusters it keeps the last findings, rack losses and plans beside their days:

```
run A    prod, test        clusters prod, test    findings, losses, plans of both
run B          test        clusters prod, test    of prod: those of A; of test: those of B
```

A plan that could not be made is not kept: it is no result. Savings are not kept either, because
they depend on the traffic of all days.

What this does not do: keep a cluster of which no day stands in the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rackwise.core.audit import sum_unsafe
from rackwise.pipeline import schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from rackwise.core.history import StandingDay
    from rackwise.pipeline.bill.model import CsvTable
    from rackwise.pipeline.plans.fleet_plans import Plans
    from rackwise.pipeline.runtime.engine import Engine

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierResult:
    """The result that a run continues."""

    summary: Mapping[str, Any]
    tables: str
    """Folder or URI of the tables of its last run."""
    read: Callable[[str], bytes]
    """Path of one of its files -> content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierClusters:
    """What an earlier run found about the clusters that this run does not read."""

    clusters: Sequence[Document]
    """Rows of `clusters` in its summary."""
    findings: pa.Table
    """Rows of FINDING."""
    not_checked: Sequence[Document]
    blast: Sequence[Document]
    plans: Sequence[Document]
    """Rows of PLAN_SUMMARY of clusters that have a plan."""
    files: Mapping[str, bytes]
    """Path -> content of their plan files."""


def read_earlier(
    engine: Engine,
    earlier: EarlierResult | None,
    days: Iterable[StandingDay],
    known: Collection[str],
) -> EarlierClusters | None:
    """What is kept; None if nothing is. `known`: the names and ids of the clusters of this run."""
    if earlier is None:
        return None
    summary = earlier.summary
    standing = {each.cluster for each in days}
    rows = [
        row
        for row in summary["clusters"]
        if row["name"] in standing and not {row["name"], row["cluster_id"]} & {*known}
    ]
    names = {row["name"] for row in rows}
    if not names:
        return None
    planned = summary["plans"]["rows"] if summary["plans"] else ()
    plans = [row for row in planned if row["cluster"] in names and row["status"] == "planned"]
    return EarlierClusters(
        clusters=rows,
        findings=_findings(engine, earlier.tables, names),
        not_checked=_of(summary["findings"]["not_checked"], names),
        blast=_of(summary["blast"], names),
        plans=[_typed(row) for row in plans],
        files={row["file"]: earlier.read(row["file"]) for row in plans},
    )


def _of(rows: Iterable[Document], names: Collection[str]) -> list[Document]:
    return [row for row in rows if row["cluster"] in names]


def _findings(engine: Engine, tables: str, names: Collection[str]) -> pa.Table:
    only = {"cluster": names}
    found = engine.collect(engine.read(f"{tables}/gold/finding", schemas.FINDING, only=only))
    return found.cast(schemas.arrow_schema(schemas.FINDING))


def _typed(row: Document) -> Document:
    """A row of PLAN_SUMMARY from its JSON values."""
    usd = [field.name for field in schemas.PLAN_SUMMARY.fields if field.dataType == schemas.USD]
    absent = dict.fromkeys(schemas.PLAN_SUMMARY.fieldNames())
    dollars = {name: None if row.get(name) is None else Decimal(row[name]) for name in usd}
    return absent | row | dollars


def with_earlier_findings(own: pa.Table, earlier: EarlierClusters | None) -> pa.Table:
    """FINDING of this run and of the clusters that stay."""
    return own if earlier is None else pa.concat_tables([own, earlier.findings])


def with_earlier_plans(own: Plans | None, earlier: EarlierClusters | None) -> Plans | None:
    """The plans of this run and of the clusters that stay; None if this run makes no plans."""
    if own is None or earlier is None:
        return own
    return replace(own, rows=[*own.rows, *earlier.plans], files={**earlier.files, **own.files})


def with_earlier_findings_csv(own: CsvTable, earlier: EarlierClusters | None) -> CsvTable:
    """`csv/findings.csv` of this run and of the clusters that stay."""
    if earlier is None:
        return own
    columns, rows = own
    kept = earlier.findings.select(columns).to_pylist()
    return columns, chain(rows, ([row[name] for name in columns] for row in kept))


def with_earlier(
    summary: Document,
    earlier: EarlierClusters | None,
    cross: Mapping[str, Document],
) -> Document:
    """The summary with the clusters that stay; its lists of findings have theirs already.

    `cross`: cluster -> its crossing bytes and dollars on all days.
    """
    if earlier is None:
        return summary
    findings = summary["findings"]
    totals = [row | cross.get(row["name"], {}) for row in earlier.clusters]
    verdict = summary["verdict"]
    count = len(earlier.findings)
    return summary | {
        "clusters": sorted([*summary["clusters"], *totals], key=lambda row: str(row["name"])),
        "verdict": verdict
        | {
            "partitions": verdict["partitions"] + sum(row["partitions"] for row in totals),
            "partitions_unsafe": sum_unsafe(row["partitions_unsafe"] for row in (verdict, *totals)),
            "findings": verdict["findings"] + count,
        },
        "findings": findings
        | {
            "not_checked": [*findings["not_checked"], *earlier.not_checked],
        },
        "blast": [*summary["blast"], *earlier.blast],
    }
