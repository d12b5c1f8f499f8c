"""The section of savings: a waterfall of changes, their settings, and where each saves most.

```
today            $12.60   ████████████████████████
follower-fetch   $1.80                        ████      each change follows those above it
assignment       $1.80                    ████
producing        up to $0.18              |             nothing is proved: the bar has no length
leader-moves     $0.00                    |
left             up to $9.00    ██████████
```

The length of a bar is the least saving.

What this does not do: compute savings. Dollars and bytes come from the summary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from rackwise.report import charts
from rackwise.report.formats import NOT_KNOWN, byte_unit, bytes_text, duration_text, usd_text
from rackwise.report.ranges import (
    Range,
    bytes_range,
    is_nothing,
    month,
    period,
    range_cell,
    range_column,
    reasons,
    saved,
    saved_amount,
    with_ranges,
)
from rackwise.report.sections import Block
from rackwise.report.sentences import has_dollars, has_traffic, is_fleet, is_priced
from rackwise.report.tables import Cell, Column, Table, name_cell, name_column, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.report.sentences import Row, Summary

WATERFALL, ALONE, STOCK = "waterfall", "alone", "stock"
PRODUCING: Final = "producing"
PLAIN, GOOD = "var(--accent)", "var(--good)"
RACK: Final = "client.rack=RACK"
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
                "from rackwise.kafka_python import RackOptimal, rack_consumer",
                "rack_consumer(TOPIC, client_rack=RACK, group_id=GROUP,",
                "              partition_assignment_strategy=[RackOptimal])",
            ),
        ),
    ),
    PRODUCING: (
        ("each producer in Java, with its own rack", (RACK, "partitioner.rack.aware=true")),
        (
            "each producer in Python (kafka-python)",
            (
                "from rackwise.kafka_python import RackAwareProducer",
                "RackAwareProducer(client_rack=RACK)",
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
UNBOUNDED: Final = (PRODUCING, "inf")
"""Saving and bound of producers without a bound on the load of a rack."""
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
    if is_nothing(total):
        return "No change saves anything"
    amount, when = saved_amount(summary)
    if amount.low is None and amount.high is None:
        return f"How much all changes save is {NOT_KNOWN}{_because(total)}"
    text = amount.phrase(between="between {} and {}", at_most="at most {}")
    return f"All changes together save {text} {when}"


def _because(total: Row) -> str:
    return f": {total['reason']}" if total["reason"] else ""


def _view(part: Row, view: str) -> Sequence[Row]:
    steps: Sequence[Row] = part["steps"]
    return [step for step in steps if step["view"] == view]


def _figure(summary: Summary) -> charts.Figure:
    """Waterfall bars: each bar starts where the previous one ended."""
    part, priced, end = summary["savings"], is_priced(summary), month(summary)
    key = f"usd_low{end}" if priced else "bytes_low"
    today = Decimal(summary["verdict"][f"usd{end}" if priced else "bytes_cross"] or 0)
    unit, size = ("USD", 1) if priced else byte_unit(int(today))
    steps = _view(part, WATERFALL)
    least = [Decimal(step[key] or 0) for step in steps]
    ends = [today - sum(least[: number + 1]) for number in range(len(least))]
    left = ends[-1] if ends else today
    is_exact = all(_range(step, summary).is_exact for step in steps)
    items = [
        _bar("today", today / size, _amount(today, is_usd=priced)),
        *(
            _bar(step["saving"], amount / size, f"saves {_range(step, summary).phrase()}", GOOD)
            for step, amount in zip(steps, least, strict=True)
        ),
        _bar("left", left / size, f"{'' if is_exact else 'up to '}{_amount(left, is_usd=priced)}"),
    ]
    times = period(summary).removeprefix("per ").removeprefix("in ")
    length = times if priced else f"{duration_text(summary['observed']['seconds'])} observed"
    chart = charts.bars(
        "chart-steps",
        "What each change saves, one after the other",
        f"{unit} per {length}, at least",
        items,
    )
    bases = [0.0, *(float(end / size) for end in ends), 0.0]
    bars, *words = chart.data
    return replace(chart, data=({**bars, "base": bases}, *words))


def _bar(name: str, length: Decimal, text: str, color: str = PLAIN) -> charts.Bar:
    return charts.Bar(name=name, length=float(length), text=text, color=color)


def _amount(amount: Decimal, *, is_usd: bool) -> str:
    return usd_text(amount) if is_usd else bytes_text(int(amount))


def _range(row: Row, summary: Summary) -> Range:
    """What a row saves: dollars if it has any, else bytes."""
    if is_priced(summary):
        return saved(row, month(summary))
    return bytes_range(row, "bytes_low", "bytes_high")


def _steps_table(summary: Summary) -> Table:
    part, end = summary["savings"], month(summary)
    alone = {(step["saving"], step["eps"]): step for step in _view(part, ALONE)}
    stock = {step["saving"]: step for step in _view(part, STOCK)}
    rows = [
        {
            **with_ranges(step),
            "alone": saved(alone.get((step["saving"], step["eps"]), step), end),
            "stock": saved(stock[step["saving"]], end) if step["saving"] in stock else None,
        }
        for step in _view(part, WATERFALL)
    ]
    when = ", 30 days" if end else ""
    columns = (
        name_column("saving", "Change"),
        range_column("bytes", "Stops crossing"),
        range_column("usd", "USD"),
        range_column("usd_30d", "USD, 30 days"),
        range_column("alone", f"Alone{when}"),
        Column("stock", f"Stock assignor{when}", "number", range_cell),
    )
    sums = ("bytes_low", "usd_low", "usd_low_30d")
    return table(
        "steps", "What each change saves after the changes before it", columns, rows, sums=sums
    )


def _changes(part: Row) -> list[Change]:
    return [
        Change(
            step["saving"],
            part["conditions"].get(step["saving"], ""),
            SETTINGS.get(step["saving"], ()),
            (*step["reasons"], *reasons(step["reason"])),
        )
        for step in _view(part, WATERFALL)
    ]


def _bounds_table(summary: Summary) -> Table:
    rows = [
        {**with_ranges(step), "bound": _bound(step["eps"])}
        for step in _view(summary["savings"], ALONE)
        if step["saving"] == PRODUCING
    ]
    columns = (
        name_column("bound", "A rack may take above its even share"),
        range_column("bytes", "Stops crossing"),
        range_column(*_dollars(summary)),
        Column("load_factor", "Fullest rack / even share", "number", _factor_cell),
    )
    return table("bounds", "Savings of producing, by the allowed load of a rack", columns, rows)


def _dollars(summary: Summary) -> tuple[str, str]:
    """The key and the heading of the dollars of a row."""
    return ("usd_30d", "USD, 30 days") if month(summary) else ("usd", "USD")


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
    if factor is None:
        return name_cell(None)
    exact = str(factor)
    return Cell(f"{Decimal(exact):.2f}", exact, exact)


def _largest_table(summary: Summary) -> Table:
    columns = (
        name_column("saving", "Change"),
        *((name_column("cluster", "Cluster"),) if is_fleet(summary) else ()),
        name_column("topic", "Topic"),
        name_column("client_group", "Client group"),
        range_column("bytes", "Stops crossing"),
        range_column(*_dollars(summary)),
        Column("reason", "Not known because", "text", name_cell),
    )
    part = summary["savings"]
    rows = [with_ranges(row) for row in part["rows"] if row["view"] == WATERFALL]
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
    if part is None or not has_dollars(summary):
        return None
    if is_nothing(part["total"]):
        return "no change saves anything here"
    steps = [step for step in _view(part, WATERFALL) if not is_nothing(step)]
    each = ", ".join(f"{step['saving']} {_step_text(step, part, summary)}" for step in steps)
    amount, when = saved_amount(summary)
    if amount.low is None and amount.high is None:
        return f"{NOT_KNOWN}{_because(part['total'])}"
    return f"{amount.phrase()} {when}: {each}"


def _step_text(step: Row, part: Row, summary: Summary) -> str:
    """The saving of a step; of `producing` also its bound, and the saving without a bound."""
    end = month(summary)
    text = saved(step, end).phrase()
    free = [one for one in _view(part, ALONE) if (one["saving"], one["eps"]) == UNBOUNDED]
    if step["saving"] != PRODUCING or step["eps"] == UNBOUNDED[1] or not free:
        return text
    factor = free[0]["load_factor"]
    fullest = "" if factor is None else f", fullest rack {_factor_cell(factor).text} x even"
    return (
        f"{text} (bound {_bound(step['eps'])}; without bound {saved(free[0], end).phrase()}"
        f"{fullest})"
    )
