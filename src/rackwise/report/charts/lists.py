"""Lists of horizontal bars: the topics, groups and pairs that cross most, and findings by rule."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from rackwise.report.charts.figure import (
    AXIS_PX,
    LABEL_COLUMNS,
    Figure,
    entities,
    label,
    line_labels,
    list_layout,
)
from rackwise.report.formats import (
    NOT_KNOWN,
    byte_unit,
    bytes_text,
    count_text,
    cut,
    name_text,
)
from rackwise.report.ranges import cost_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rackwise.report.charts.figure import Row

BARS: Final = 10
"""Maximum number of bars in a list; the table beside the chart has more rows."""
SEVERITY_SIGNS: Final = {"error": "\u25b2", "warning": "\u25c6", "info": "\u25cb"}
SEVERITY_COLORS: Final = {"error": "var(--bad)", "warning": "var(--warn)", "info": "var(--quiet)"}
_LINE_PX: Final = 44
"""Height of a bar with its label."""
# In units of one line of a list: the label is above the centre, the bar below it.
_LABEL_ABOVE: Final = 0.23
_BAR_BELOW: Final = 0.14
_BAR_WIDTH: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar."""

    name: str
    """The name, not shortened and not escaped."""
    length: float
    """The length in the unit of the axis."""
    text: str
    """The length as text."""
    hover: str = ""
    """Text of the tooltip; if empty, name and length."""
    color: str = "var(--accent)"


@dataclass(frozen=True, slots=True)
class Measure:
    """What bars show: dollars, or bytes in one unit."""

    key: str
    """Key of the value in a row."""
    axis: str
    """Axis title, with the unit."""
    size: int = 1
    """Size of the unit, in bytes or dollars."""

    def length(self, row: Row) -> float:
        """The length of the row's bar, in the unit of the axis."""
        return float(Decimal(row[self.key] or 0) / self.size)

    def text(self, row: Row) -> str:
        """The number beside the bar: of a range the least, as the axis says; both are too wide."""
        if self.key != "usd":
            return bytes_text(row[self.key])
        return cost_of(row).low or NOT_KNOWN


def measure(rows: Sequence[Row], *, is_priced: bool, period: str) -> Measure:
    """Dollars if a price exists, else crossing bytes in the unit that fits the largest row."""
    if is_priced:
        least = any(cost_of(row).low != cost_of(row).high for row in rows)
        return Measure("usd", f"USD over {period} observed{', at least' * least}")
    unit, size = byte_unit(max((row["bytes_cross"] or 0 for row in rows), default=0))
    return Measure("bytes_cross", f"crossing bytes, {unit}, over {period} observed", size)


def bars(figure: str, title: str, axis: str, items: Sequence[Bar]) -> Figure:
    """A list of horizontal bars; the first is at the top."""
    top = max((item.length for item in items), default=0.0)
    lines = [row - _LABEL_ABOVE for row in range(len(items))]
    height = _LINE_PX * len(items) + AXIS_PX
    layout = list_layout(axis, len(items), height=height)
    layout["xaxis"]["range"] = [0, top or 1]
    return Figure(
        id=figure,
        title=title,
        description=_spoken(axis, items),
        data=(
            _bar_trace(items),
            line_labels([label(item.name) for item in items], at=0, y=lines, side="right"),
            line_labels([entities(item.text) for item in items], at=top or 1, y=lines, side="left"),
        ),
        layout=layout,
    )


def _bar_trace(items: Sequence[Bar]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": [item.length for item in items],
        "y": [row + _BAR_BELOW for row in range(len(items))],
        "width": _BAR_WIDTH,
        "marker": {"color": [item.color for item in items]},
        "hoverinfo": "text",
        "hovertext": [
            item.hover or f"{label(item.name)}<br>{entities(item.text)}" for item in items
        ],
    }


def _spoken(axis: str, items: Sequence[Bar]) -> str:
    listed = "; ".join(f"{cut(name_text(item.name), LABEL_COLUMNS)}: {item.text}" for item in items)
    return f"Bars of {axis}. {listed}"


def top_bars(
    figure: str,
    title: str,
    rows: Sequence[Row],
    by: Measure,
    *,
    name: Callable[[Row], str],
) -> Figure | None:
    """Bars of the rows that cross most, None for fewer than two; `name`: the name of a bar."""
    crossing = [row for row in rows if row["bytes_cross"]][:BARS]
    if len(crossing) < 2:  # noqa: PLR2004 (one bar compares nothing)
        return None
    items = [
        Bar(
            name=name(row),
            length=by.length(row),
            text=by.text(row),
            hover=crossing_hover(name(row), row),
        )
        for row in crossing
    ]
    return bars(figure, title, by.axis, items)


def crossing_hover(name: str, row: Row) -> str:
    """The tooltip of a row: its name, crossing and local bytes, and dollars."""
    lines = [f"{bytes_text(row['bytes_cross'])} crossing"]
    if "bytes_local" in row:
        lines.append(f"{bytes_text(row['bytes_local'])} local")
    return "<br>".join([label(name), *lines, entities(cost_of(row).phrase())])


def rules(rows: Sequence[Row]) -> Figure | None:
    """Findings by rule. The severity is written before the rule; its colour only repeats it."""
    items = [
        Bar(
            name=f"{SEVERITY_SIGNS.get(row['severity'], '')} {row['severity']}: {row['rule']}",
            length=float(row["count"]),
            text=count_text(row["count"]),
            color=SEVERITY_COLORS.get(row["severity"], "var(--quiet)"),
        )
        for row in rows[:BARS]
    ]
    return bars("chart-rules", "Findings by rule", "findings (count)", items) if items else None
