"""The section of savings: a waterfall of changes, their settings, and where each saves most.

```
today            $12.60   ████████████████████████
follower-fetch  -$1.80                        ████      each change follows those above it
assignment      -$1.80                    ████
producing       -$3.60            ████████
leader-moves     $0.00            |
left             $5.40    ████████
```

What this does not do: compute savings. Dollars and bytes come from the summary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from rackwise.report import charts
from rackwise.report.formats import byte_unit, bytes_text, duration_text, usd_text
from rackwise.report.sections import Block
from rackwise.report.sentences import has_traffic, is_fleet, is_priced
from rackwise.report.tables import (
    Cell,
    Column,
    Table,
    bytes_column,
    name_cell,
    name_column,
    table,
    usd_column,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.report.sentences import Row, Summary

WATERFALL, ALONE, STOCK = "waterfall", "alone", "stock"
PRODUCING: Final = "producing"
PLAIN, GOOD = "var(--accent)", "var(--good)"
RACK: Final = "client.rack=RACK"
CLIENTS: Final = "rackwise.adapters.clients"
JAVA_ASSIGNOR: Final = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
SETTINGS: Final[Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]]] = {
    "follower-fetch": (
        (
            "server.properties of each broker",
            ("replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector",),
        ),
        ("each consumer, with its own rack", (RACK,)),
    ),
    "assignment": (
        (
            "each consumer in Java, with its own rack",
            (
                RACK,
                "group.protocol=classic",
                f"partition.assignment.strategy={JAVA_ASSIGNOR}",
            ),
        ),
        (
            "each consumer in Python (kafka-python)",
            (
                f"from {CLIENTS}.kafka_python.group import RackOptimal, rack_consumer",
                "rack_consumer(TOPIC, rack=RACK, assignor=RackOptimal(RACK), group_id=GROUP)",
            ),
        ),
    ),
    PRODUCING: (
        ("each producer in Java, with its own rack", (RACK, "partitioner.rack.aware=true")),
        (
            "each producer in Python (kafka-python)",
            (
                "from rackwise.core.partitioner import PartitionerConfig",
                f"from {CLIENTS}.kafka_python.producer import RackAwarePartitioner",
                "near = RackAwarePartitioner(PartitionerConfig(rack_aware=True, rack=RACK))",
                "KafkaProducer(partitioner=near)",
            ),
        ),
    ),
    "leader-moves": (
        (
            "once, on the cluster",
            (
                "rackwise plan leaders --snapshot SNAPSHOT --out leaders.json",
                "rackwise apply leaders.json --bootstrap-server HOST:PORT",
            ),
        ),
    ),
}
"""Saving -> the places to configure, each with the lines to set or run."""
NO_BOUND: Final = "no bound (KIP-1123)"
ASSUMPTIONS: Final = (
    "Changes move bytes between partitions of a topic; the bytes that are read from and copied for "
    "each partition are assumed to stay the same. Bytes are spread evenly over partitions with the "
    "same racks"
)


@dataclass(frozen=True, slots=True)
class Change:
    """A change that reduces the bill."""

    name: str
    condition: str
    """The requirements of the change."""
    settings: tuple[tuple[str, tuple[str, ...]], ...]
    """Places to configure, each with its lines."""
    reasons: tuple[str, ...]
    """Reasons why parts of the saving are left out."""


@dataclass(frozen=True, slots=True)
class Section:
    """The content of the section."""

    lead: str
    assumptions: str
    waterfall: Block
    changes: tuple[Change, ...]
    bounds: Table
    """The saving `producing` at each bound."""
    largest: Table
    """The rows that save most."""
    total: Row
    """The exact sums of the waterfall."""


def section(summary: Summary) -> Section | None:
    """The content of the section; None if the summary has no traffic."""
    part = summary["savings"]
    if part is None or not has_traffic(summary):
        return None
    return Section(
        lead=_lead(summary),
        assumptions=ASSUMPTIONS,
        waterfall=Block("What each change saves", _figure(summary), _steps_table(summary)),
        changes=tuple(_changes(part)),
        bounds=_bounds_table(summary),
        largest=_largest_table(summary),
        total=part["total"],
    )


def _lead(summary: Summary) -> str:
    total = summary["savings"]["total"]
    if is_priced(summary):
        return f"All changes together save up to {usd_text(total['usd_saved_30d'])} per 30 days"
    period = duration_text(summary["observed"]["seconds"])
    return (
        f"All changes together save up to {bytes_text(total['bytes_saved'])} of {period} observed"
    )


def _view(part: Row, view: str) -> Sequence[Row]:
    steps: Sequence[Row] = part["steps"]
    return [step for step in steps if step["view"] == view]


def _figure(summary: Summary) -> charts.Figure:
    """Waterfall bars: each bar starts where the previous one ended."""
    part, priced = summary["savings"], is_priced(summary)
    key = "usd_saved_30d" if priced else "bytes_saved"
    today = Decimal(summary["verdict"]["usd_30d" if priced else "bytes_cross"] or 0)
    unit, size = ("USD", 1) if priced else byte_unit(int(today))
    steps = _view(part, WATERFALL)
    saved = [Decimal(step[key] or 0) for step in steps]
    ends = [today - sum(saved[: number + 1]) for number in range(len(saved))]
    left = ends[-1] if ends else today
    items = [
        _bar("today", today / size, _amount(today, is_usd=priced)),
        *(
            _bar(step["saving"], amount / size, f"saves {_amount(amount, is_usd=priced)}", GOOD)
            for step, amount in zip(steps, saved, strict=True)
        ),
        _bar("left", left / size, _amount(left, is_usd=priced)),
    ]
    period = "30 days" if priced else f"{duration_text(summary['observed']['seconds'])} observed"
    chart = charts.bars(
        "chart-steps",
        "What each change saves, one after the other",
        f"{unit} per {period}",
        items,
    )
    bases = [0.0, *(float(end / size) for end in ends), 0.0]
    bars, *words = chart.data
    return replace(chart, data=({**bars, "base": bases}, *words))


def _bar(name: str, length: Decimal, text: str, color: str = PLAIN) -> charts.Bar:
    return charts.Bar(name=name, length=float(length), text=text, color=color)


def _amount(amount: Decimal, *, is_usd: bool) -> str:
    return usd_text(amount) if is_usd else bytes_text(int(amount))


def _steps_table(summary: Summary) -> Table:
    part = summary["savings"]
    alone = {(step["saving"], step["eps"]): step for step in _view(part, ALONE)}
    stock = {step["saving"]: step for step in _view(part, STOCK)}
    rows = [
        {
            "saving": step["saving"],
            "bytes_saved": step["bytes_saved"],
            "usd_saved": step["usd_saved"],
            "usd_saved_30d": step["usd_saved_30d"],
            "alone": alone.get((step["saving"], step["eps"]), step)["usd_saved_30d"],
            "stock": stock[step["saving"]]["usd_saved_30d"] if step["saving"] in stock else "",
        }
        for step in _view(part, WATERFALL)
    ]
    columns = (
        name_column("saving", "Change"),
        bytes_column("bytes_saved", "Stops crossing"),
        usd_column("usd_saved", "USD"),
        usd_column("usd_saved_30d", "USD, 30 days"),
        usd_column("alone", "Alone, 30 days"),
        Column("stock", "Stock assignor, 30 days", "number", _usd_or_none),
    )
    sums = ("bytes_saved", "usd_saved", "usd_saved_30d")
    return table(
        "steps", "What each change saves after the changes before it", columns, rows, sums=sums
    )


def _usd_or_none(usd: str | None) -> Cell:
    return Cell("-") if usd == "" else Cell(usd_text(usd), None if usd is None else f"{usd} USD")


def _changes(part: Row) -> list[Change]:
    return [
        Change(
            step["saving"],
            part["conditions"].get(step["saving"], ""),
            SETTINGS.get(step["saving"], ()),
            tuple(step["reasons"]),
        )
        for step in _view(part, WATERFALL)
    ]


def _bounds_table(summary: Summary) -> Table:
    rows = [
        {**step, "bound": _bound(step["eps"])}
        for step in _view(summary["savings"], ALONE)
        if step["saving"] == PRODUCING
    ]
    columns = (
        name_column("bound", "A rack may take above its even share"),
        bytes_column("bytes_saved", "Stops crossing"),
        usd_column("usd_saved_30d", "USD, 30 days"),
        Column("load_factor", "Fullest rack / even share", "number", _factor_cell),
    )
    return table("bounds", "Savings of producing, by the allowed load of a rack", columns, rows)


def _bound(eps: str | None) -> str | None:
    """A bound in per cent.

    >>> _bound("0.05"), _bound("inf"), _bound(None)
    ('5 %', 'no bound (KIP-1123)', None)
    """
    if eps is None:
        return None
    share = Decimal(eps) * 100
    return f"{share.normalize():f} %" if share.is_finite() else NO_BOUND


def _factor_cell(factor: object) -> Cell:
    return name_cell(None) if factor is None else Cell(f"{Decimal(str(factor)):.2f}", str(factor))


def _largest_table(summary: Summary) -> Table:
    columns = (
        name_column("saving", "Change"),
        *((name_column("cluster", "Cluster"),) if is_fleet(summary) else ()),
        name_column("topic", "Topic"),
        name_column("client_group", "Client group"),
        bytes_column("bytes_saved", "Stops crossing"),
        usd_column("usd_saved_30d", "USD, 30 days"),
    )
    part = summary["savings"]
    rows = [row for row in part["rows"] if row["view"] == WATERFALL]
    return table(
        "savings",
        "Where changes save most, each after the changes before it",
        columns,
        rows,
        count=part["count"] - len(part["rows"]) + len(rows),
        file="csv/savings.csv",
    )


def sentence(summary: Summary) -> str | None:
    """The line for the terminal: the sum of the waterfall, and each change with a saving."""
    part = summary["savings"]
    if part is None or not is_priced(summary):
        return None
    steps = [step for step in _view(part, WATERFALL) if Decimal(step["usd_saved_30d"] or 0)]
    each = ", ".join(f"{step['saving']} {usd_text(step['usd_saved_30d'])}" for step in steps)
    whole = usd_text(part["total"]["usd_saved_30d"])
    return f"up to {whole} per 30 days: {each}" if each else "no change saves anything here"
