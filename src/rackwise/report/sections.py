"""The sections of the page: the charts and tables of each, and their part of the summary.

Order of the page: verdict, quality, matrix, top, days, savings (in `savings`), findings, blast,
method. If the summary has no traffic, a section that needs traffic says which input to add.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from rackwise.core.owners import UNOWNED
from rackwise.report import charts
from rackwise.report.formats import NOT_THERE, count_of, count_text, duration_text
from rackwise.report.sentences import has_traffic, is_fleet, is_priced, is_range, losses, rules
from rackwise.report.tables import (
    ROLL_UP_SUMS,
    Column,
    Table,
    bytes_column,
    count_column,
    name_cell,
    name_column,
    roll_up_columns,
    severity_column,
    share_column,
    table,
    unit_cell,
    usd_column,
    usd_columns,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.report.sentences import Row, Summary


UNKNOWN: Final = "(unknown)"
"""Bars left out: bytes without a known topic, clients without a known group, and replication."""
_OWNED: Final = frozenset({"topic", "group", "owner", "pair"})
"""Roll-ups in which each row belongs to one cluster."""


@dataclass(frozen=True, slots=True)
class Block:
    """A chart and its table."""

    title: str
    figure: charts.Figure | None
    """None if there is nothing to compare."""
    table: Table
    is_of_fleet: bool = True
    """Whether the rows belong to no single cluster."""


def _cluster_column(summary: Summary) -> tuple[Column, ...]:
    return (name_column("cluster", "Cluster"),) if is_fleet(summary) else ()


def clusters(summary: Summary) -> Block:
    """The clusters of a fleet: the cost, the unsafe partitions and the repair of each."""
    plans = summary["plans"]["rows"] if summary["plans"] else ()
    moves = {row["cluster"]: row["moves"] for row in plans}
    rows = sorted(
        ({**row, "moves": moves.get(row["name"])} for row in summary["clusters"]),
        key=lambda row: (
            -Decimal(row["usd"] or 0),
            -(row["bytes_cross"] or 0),
            row["partitions_unsafe"] == 0,
            -(row["partitions_unsafe"] or 0),
            row["name"],
        ),
    )
    priced, has_bytes = is_priced(summary), has_traffic(summary)
    columns = (
        Column("name", "Cluster", "cluster", name_cell),
        *([bytes_column("bytes_cross", "Crossing")] if has_bytes else []),
        *(usd_columns(is_range=is_range(summary)) if priced else ()),
        count_column("partitions_unsafe", "Not rack-safe"),
        count_column("partitions", "Partitions"),
        count_column("moves", "Replicas to move"),
        count_column("brokers", "Brokers"),
        count_column("racks", "Racks"),
    )
    sums = ("brokers", "partitions", "partitions_unsafe", *(("bytes_cross",) if has_bytes else ()))
    period = duration_text(summary["observed"]["seconds"]) if has_bytes else ""
    figure = charts.top_bars(
        "chart-clusters",
        "Clusters that cross most",
        rows,
        charts.measure(rows, is_priced=priced, period=period),
        name=lambda row: str(row["name"]),
    )
    return Block(
        "Clusters",
        figure if has_bytes else None,
        table("clusters", "Clusters", columns, rows, sums=(*sums, *(("usd",) if priced else ()))),
    )


def top(summary: Summary) -> tuple[Block, ...]:
    """Topics, client groups, owners if there are any, rack pairs, kinds and several levels."""
    blocks = [
        *owned(summary),
        _top_block(summary, "kind", "Kinds of traffic", ("kind",), "Kind"),
    ]
    if len(summary["levels"]) > 1:
        blocks.append(_top_block(summary, "level", "Levels", ("level_name",), "Level"))
    return tuple(blocks)


def owned(summary: Summary) -> tuple[Block, ...]:
    """Those blocks of `top` in which each row belongs to one cluster."""
    blocks = [
        _top_block(summary, "topic", "Topics", ("topic",), "Topic"),
        _top_block(summary, "group", "Client groups", ("client_group",), "Client group"),
    ]
    if any(row["owner"] != UNOWNED for row in summary["by_owner"]):
        blocks.append(_top_block(summary, "owner", "Owners", ("owner",), "Owner"))
    blocks.append(_top_block(summary, "pair", "Rack pairs", ("from_rack", "to_rack"), "From", "To"))
    return tuple(blocks)


def _top_block(
    summary: Summary, noun: str, title: str, keys: tuple[str, ...], *heads: str
) -> Block:
    priced, period = is_priced(summary), duration_text(summary["observed"]["seconds"])
    rows: Sequence[Row] = summary[f"by_{noun}"]
    is_named = is_fleet(summary) and noun in _OWNED
    columns = (
        *(name_column(key, head) for key, head in zip(keys, heads, strict=True)),
        *(_cluster_column(summary) if is_named else ()),
        *roll_up_columns(is_priced=priced, is_range=is_range(summary)),
    )
    figure = charts.top_bars(
        f"chart-{noun}",
        f"{title} that cross most" if noun in _OWNED else title,
        [row for row in rows if UNKNOWN not in {row.get("topic"), row.get("client_group")}],
        charts.measure(rows, is_priced=priced, period=period),
        name=lambda row: _bar_name(row, keys, with_cluster=is_named),
    )
    shown = _roll_up_table(summary, noun, title, columns, rows)
    return Block(title, figure, shown, is_of_fleet=noun not in _OWNED)


def _roll_up_table(
    summary: Summary, noun: str, caption: str, columns: Sequence[Column], rows: Sequence[Row]
) -> Table:
    return table(
        noun,
        caption,
        columns,
        rows,
        count=summary["rows"].get(f"by_{noun}"),
        file=_file(summary, f"csv/by_{noun}.csv"),
        sums=ROLL_UP_SUMS,
    )


def _bar_name(row: Row, keys: tuple[str, ...], *, with_cluster: bool) -> str:
    name = " to ".join(row[key] or "(empty)" for key in keys)
    return f"{name} ({row['cluster']})" if with_cluster else name


def days(summary: Summary) -> Block:
    """Dollars per day in calendar order, summed over all clusters."""
    priced = is_priced(summary)
    rows = sorted(summary["by_day"], key=lambda row: str(row["day"]))
    columns = (
        name_column("day", "Day (UTC)"),
        *roll_up_columns(is_priced=priced, is_range=is_range(summary)),
    )
    measure = charts.measure(rows, is_priced=priced, period="each day")
    title = "Dollars per day" if priced else "Crossing bytes per day"
    return Block(
        title,
        charts.days(rows, measure),
        _roll_up_table(summary, "day", title, columns, rows),
    )


def findings(summary: Summary) -> Block:
    """Findings by rule, worst consequence first."""
    rows = rules(summary)
    columns = (
        name_column("consequence", "Consequence"),
        severity_column(),
        name_column("rule", "Rule"),
        name_column("sentence", "Broken when"),
        count_column("count", "Findings"),
    )
    return Block(
        "Findings by rule",
        charts.rules(rows),
        table("rules", "Findings by rule", columns, rows, sums=("count",)),
    )


def topics(summary: Summary) -> Table:
    """Topics with findings, worst consequence first."""
    columns = (
        name_column("topic", "Topic"),
        *_cluster_column(summary),
        name_column("consequence", "Worst consequence"),
        count_column("worst", "Findings with it"),
        count_column("count", "All findings"),
        count_column("partitions", "Partitions"),
        name_column("rules", "Broken rules, worst first"),
    )
    return table(
        "topics",
        "Findings by topic, worst first",
        columns,
        summary["findings"]["by_topic"],
        count=summary["rows"].get("topics_with_findings"),
        file="csv/findings.csv",
    )


def worst(summary: Summary) -> Table:
    """The findings with the worst consequences, one per row."""
    columns = (
        name_column("consequence", "Consequence"),
        severity_column(),
        name_column("rule", "Rule"),
        *_cluster_column(summary),
        name_column("topic", "Topic"),
        Column("partition", "Partition", "number", name_cell),
        Column("broker", "Broker", "number", name_cell),
        name_column("level", "Level"),
        name_column("wanted", "Expected"),
        name_column("had", "Got"),
    )
    return table(
        "worst",
        "Worst findings, one by one",
        columns,
        summary["findings"]["worst"],
        count=summary["rows"].get("findings"),
        file="csv/findings.csv",
    )


def not_checked(summary: Summary) -> Table:
    """Rules that were not checked, and the reason."""
    columns = (
        name_column("rule", "Rule"),
        *_cluster_column(summary),
        name_column("reason", "Why not"),
    )
    return table("not-checked", "Not checked", columns, summary["findings"]["not_checked"])


def blast(summary: Summary) -> Block:
    """The effect of the loss of each rack, worst first."""
    fleet = is_fleet(summary)
    ranked = losses(summary)
    inside = {id(row) for row in ranked}
    rest = [row for row in summary["blast"] if id(row) not in inside]
    columns = (
        name_column("rack", "Rack lost"),
        *_cluster_column(summary),
        *([count_column("level", "Level")] if len(summary["levels"]) > 1 else []),
        count_column("partitions_offline", "Offline"),
        count_column("partitions_below_min_isr", "Below min ISR"),
        count_column("leaders_lost", "Leaders moved"),
        share_column("top_survivor_leader_share", "Top survivor leads", none=NOT_THERE),
        count_column("replicas_lost", "Replicas lost"),
        bytes_column("bytes_to_restore", "To restore"),
        bytes_column("cross_bytes_to_restore", "Crossing part"),
        usd_column("usd_to_restore", "USD to restore"),
        count_column("groups_lost", "Groups lost"),
        share_column("member_share_lost", "Members lost"),
    )
    return Block(
        "Effect of the loss of one rack",
        charts.losses(ranked, with_cluster=fleet),
        table(
            "blast",
            "Effect of the loss of each rack",
            columns,
            [*ranked, *rest],
            file=_file(summary, "csv/blast.csv"),
            sums=("partitions_offline",),
        ),
        is_of_fleet=False,
    )


def _file(summary: Summary, name: str) -> str:
    return name if name in summary["csv"] else "summary.json"


def prices(summary: Summary) -> Table:
    """The price rows used, with date and source."""
    columns = (
        name_column("provider", "Provider"),
        name_column("region", "Region"),
        name_column("level", "Level"),
        name_column("kind", "Kind"),
        Column("usd_per_gb_out", "USD per GB out", "number", unit_cell),
        Column("usd_per_gb_in", "USD per GB in", "number", unit_cell),
        Column("gb_bytes", "Bytes per GB", "number", unit_cell),
        name_column("valid_from", "Valid from"),
        name_column("valid_to", "Valid to"),
        name_column("state", "State"),
        name_column("source", "Source"),
    )
    rows = [row | {"state": _price_state(row)} for row in summary["method"]["prices"]]
    return table("prices", "Price rows used", columns, rows)


def _price_state(row: Row) -> str:
    state = "checked" if row["is_checked"] else "unchecked price"
    return f"{state}, extrapolated" if row["is_extrapolated"] else state


def _meter(summary: Summary) -> tuple[Table, ...]:
    """What two snapshots do not tell, and how flow logs and snapshots agree."""
    reasons = (
        name_column("cause", "Why bytes are not known"),
        name_column("cure", "What makes them known"),
        count_column("partitions", "Partitions"),
    )
    brokers = (
        *_cluster_column(summary),
        name_column("day", "Day"),
        count_column("from_broker", "From broker"),
        count_column("to_broker", "To broker"),
        bytes_column("flow_bytes_per_s", "Per second by flow logs"),
        bytes_column("meter_bytes_per_s", "Per second by snapshots"),
    )
    unmetered, compared = summary["unmetered"], summary["reconciliation"]
    rows = compared["rows"] if compared else ()
    return (
        table(
            "unmetered",
            "Bytes between snapshots that are not known",
            reasons,
            unmetered["by_reason"] if unmetered else (),
        ),
        table(
            "reconciliation",
            _agreement(compared) if compared else "",
            brokers,
            rows,
            count=compared["pairs"] + compared["pairs_one_source"] if compared else 0,
            file="csv/reconciliation.csv",
        ),
    )


def _agreement(compared: Row) -> str:
    """How many pairs of brokers replicate the same by flow logs and by snapshots."""
    same = compared["pairs"] - compared["pairs_off"]
    alone = compared["pairs_one_source"]
    return (
        f"Replication by flow logs and by snapshots: {count_text(same)} of "
        f"{count_of(compared['pairs'], 'pair')} of brokers agree within 10 %"
        + (f"; one source does not have {count_of(alone, 'more pair')}" if alone else "")
    )


def method(summary: Summary) -> tuple[Table, ...]:
    """Prices, row outcomes, files, sources, failed snapshots and options; omits empty tables."""
    part = summary["method"]
    outcomes = (
        name_column("reason", "Outcome"),
        count_column("rows", "Rows"),
        bytes_column("bytes", "Bytes"),
    )
    files = (
        name_column("file", "File"),
        count_column("rows", "Rows"),
        count_column("quarantined", "Quarantined"),
    )
    sources = (
        *_cluster_column(summary),
        name_column("day", "Day"),
        name_column("kind", "Kind"),
        name_column("source", "Billed source"),
    )
    failed = (
        name_column("snapshot", "Snapshot"),
        name_column("error", "Error"),
        name_column("message", "Message"),
        name_column("hint", "Hint"),
    )
    pairs = (name_column("name", "Name"), name_column("value", "Value"))
    tables = (
        prices(summary),
        *_meter(summary),
        table(
            "outcomes",
            "Outcome of every row read",
            outcomes,
            part["outcomes"],
            sums=("rows", "bytes"),
        ),
        table("files", "Files read", files, part["files"], sums=("rows", "quarantined")),
        table("sources", "Source per day and kind", sources, part["precedence"]),
        table("failed", "Snapshots not read", failed, summary["failed"]),
        table("options", "Options", pairs, _pairs(part["options"])),
        table("versions", "Versions", pairs, _pairs(part["versions"])),
    )
    return tuple(entry for entry in tables if entry.rows)


def _pairs(mapping: Mapping[str, object]) -> list[dict[str, object]]:
    return [{"name": name, "value": _value(value)} for name, value in sorted(mapping.items())]


def _value(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(str(item) for item in value) if isinstance(value, list) else value
