"""Charts over days: a bar per day, and lines of cost, crossing share and unsafe partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rackwise.report.charts.figure import AXIS_PX, Figure, axis_layout, base_layout, entities
from rackwise.report.charts.lists import Measure, crossing_hover
from rackwise.report.formats import (
    byte_unit,
    bytes_text,
    count_text,
    name_text,
    share_text,
    usd_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.report.charts.figure import Row

_DAY_TICKS: Final = 7
"""Maximum number of labelled days."""
_DAY_LENGTH: Final = len("2026-11-01")
_PANEL_PX: Final = 130
"""Height of one panel of the chart of days."""
_PANEL_GAP: Final = 0.09


def days(rows: Sequence[Row], by: Measure) -> Figure | None:
    """One vertical bar per day; None for a single day."""
    if len(rows) < 2:  # noqa: PLR2004 (one bar compares nothing)
        return None
    layout = base_layout(height=300)
    layout["margin"] = {"l": 8, "r": 8, "t": 12, "b": 46}
    layout["dragmode"] = "zoom"
    layout["bargap"] = 0.35
    names, axis = _day_names([str(row["day"]) for row in rows])
    layout["xaxis"] = axis_layout(
        axis,
        type="category",
        showgrid=False,
        fixedrange=False,
        tickangle=0,
        tickvals=names[:: -(-len(names) // _DAY_TICKS)],
    )
    is_usd = by.key == "usd"
    layout["yaxis"] = axis_layout(
        "USD per day" if is_usd else by.axis.split(", over")[0] + " per day",
        rangemode="tozero",
        tickprefix="$" if is_usd else "",
        nticks=6,
    )
    trace = {
        "type": "bar",
        "x": names,
        "y": [by.length(row) for row in rows],
        "marker": {"color": "var(--accent)"},
        "hoverinfo": "text",
        "hovertext": [crossing_hover(row["day"], row) for row in rows],
    }
    listed = "; ".join(f"{name_text(row['day'])}: {by.text(row)}" for row in rows)
    return Figure(
        id="chart-day",
        title="Dollars per day" if is_usd else "Crossing bytes per day",
        description=f"Upright bars, one per day. {listed}",
        data=(trace,),
        layout=layout,
    )


def history(rows: Sequence[Row], *, is_priced: bool) -> Figure | None:
    """Lines over the days, one panel each: cost, crossing share, unsafe partitions.

    A day whose value is not known is a gap in its line. None for a single day.
    """
    if len(rows) < 2:  # noqa: PLR2004 (one point is no line)
        return None
    names, axis = _day_names([str(row["day"]) for row in rows])
    unit, size = byte_unit(max((row["bytes_cross"] or 0 for row in rows), default=0))
    panels = [
        ("usd", "USD", "var(--accent)", 1.0, usd_text)
        if is_priced
        else ("bytes_cross", f"crossing, {unit}", "var(--accent)", float(size), bytes_text),
        ("cross_share", "% that cross", "var(--warn)", 0.01, share_text),
        ("partitions_unsafe", "not rack-safe", "var(--bad)", 1.0, count_text),
    ]
    shown = [panel for panel in panels if any(row[panel[0]] is not None for row in rows)]
    layout = base_layout(height=_PANEL_PX * len(shown) + AXIS_PX)
    layout["margin"] = {"l": 8, "r": 8, "t": 12, "b": 46}
    height = (1 + _PANEL_GAP) / max(1, len(shown))
    layout["xaxis"] = axis_layout(
        axis,
        type="category",
        categoryarray=names,
        anchor="free",
        position=0,
        showgrid=False,
        tickangle=0,
        tickvals=names[:: -(-len(names) // _DAY_TICKS)],
    )
    traces, spoken = [], []
    for number, (key, title, color, scale, text) in enumerate(shown):
        suffix = str(number + 1) if number else ""
        top = 1 - number * height
        layout[f"yaxis{suffix}"] = axis_layout(
            title,
            domain=[max(0.0, top - height + _PANEL_GAP), top],
            rangemode="tozero",
            nticks=4,
        )
        known = [row[key] for row in rows]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": names,
                "y": [None if value is None else float(value) / scale for value in known],
                "yaxis": f"y{suffix}",
                "connectgaps": False,
                "line": {"color": color, "width": 2},
                "marker": {"color": color, "size": 6},
                "hoverinfo": "text",
                "hovertext": [
                    f"{name_text(row['day'])}<br>{entities(text(row[key]))} {entities(title)}"
                    if row[key] is not None
                    else ""
                    for row in rows
                ],
                "showlegend": False,
            }
        )
        listed = "; ".join(
            f"{name_text(row['day'])}: {'not known' if row[key] is None else text(row[key])}"
            for row in rows
        )
        spoken.append(f"{title}: {listed}")
    return Figure(
        id="chart-history",
        title="Day by day",
        description=f"Lines over the days. {'. '.join(spoken)}",
        data=tuple(traces),
        layout=layout,
    )


def _day_names(days: Sequence[str]) -> tuple[list[str], str]:
    """Short names of the days, and the axis title; the title has the year if all days share it."""
    years = {day[:4] for day in days}
    if len(years) == 1 and all(len(day) == _DAY_LENGTH for day in days):
        return [entities(name_text(day[5:])) for day in days], f"day of {name_text(*years)} (UTC)"
    return [entities(name_text(day)) for day in days], "day (UTC)"
