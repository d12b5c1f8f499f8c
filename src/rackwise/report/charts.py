"""Charts as plain plotly figures: lists and dicts, drawn by plotly in the reader's browser.

Goals, in order: every bar has a name and a number, so that colour is never the only sign; a name of
249 characters or with markup affects only its own label; the same chart is readable at 360 px and
at 1280 px.

In a list of bars, the name is above its bar and the number is at the right end of the same line.
A name beside its bar would leave no room for the bar on a telephone:

```
orders                    1.20 TiB
████████████████████████████████
payments                  0.31 TiB
████████
0        0.5       1.0        1.5
        crossing bytes, TiB
```

Colours are custom properties of the stylesheet, for example `var(--accent)`. The script of the page
replaces each one with the colour of the reader's colour scheme. Plotly interprets a small markup
language in every text, so the characters `<`, `>` and `&` in a name are written as entities.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

from rackwise.report.formats import (
    NOT_KNOWN,
    byte_unit,
    bytes_text,
    count_text,
    cut,
    name_text,
    share_text,
    usd_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Row = Mapping[str, Any]

BARS: Final = 10
"""Maximum number of bars in a list; the table beside the chart has more rows."""
LOSSES: Final = 8
"""Maximum number of racks in the chart of rack losses."""
LABEL_COLUMNS: Final = 30
"""Maximum columns of a name in a chart."""
SEVERITY_SIGNS: Final = {"error": "\u25b2", "warning": "\u25c6", "info": "\u25cb"}
SEVERITY_COLORS: Final = {"error": "var(--bad)", "warning": "var(--warn)", "info": "var(--quiet)"}
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_LINE_PX: Final = 44
"""Height of a bar with its label."""
_ROOM_PX: Final = 58
"""Height of the axis below the bars."""
# In units of one line of a list: the label is above the centre, the bar below it.
_LABEL_ABOVE: Final = 0.23
_BAR_BELOW: Final = 0.14
_BAR_WIDTH: Final = 0.3
_DAY_TICKS: Final = 7
"""Maximum number of labelled days."""
_DAY_LENGTH: Final = len("2026-11-01")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart."""

    id: str
    """Id of its element on the page."""
    title: str
    """Text above the chart."""
    description: str
    """Text that screen readers read instead of the chart."""
    data: tuple[Mapping[str, Any], ...]
    """Traces of plotly."""
    layout: Mapping[str, Any]
    """Layout of plotly."""


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
        """The number beside the bar."""
        if self.key != "usd":
            return bytes_text(row[self.key])
        return NOT_KNOWN if row["usd"] is None else usd_text(row["usd"])


def measure(rows: Sequence[Row], *, is_priced: bool, period: str) -> Measure:
    """Dollars if a price exists, else crossing bytes in the unit that fits the largest row."""
    if is_priced:
        return Measure("usd", f"USD over {period} observed")
    unit, size = byte_unit(max((row["bytes_cross"] or 0 for row in rows), default=0))
    return Measure("bytes_cross", f"crossing bytes, {unit}, over {period} observed", size)


def label(name: str) -> str:
    """A name as a label: shortened, safe to show, with plotly's markup characters as entities.

    >>> label("<b>orders</b>")
    '&lt;b&gt;orders&lt;/b&gt;'
    """
    return entities(cut(name_text(name), LABEL_COLUMNS))


def entities(text: str) -> str:
    """The text, escaped for plotly, which takes text between two dollar signs for a formula.

    >>> entities("$1.00 to $2.00"), entities("$1.00")
    ('&#36;1.00 to &#36;2.00', '$1.00')
    """
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace("$", "&#36;") if shown.count("$") > 1 else shown


def bars(figure: str, title: str, axis: str, items: Sequence[Bar]) -> Figure:
    """A list of horizontal bars; the first is at the top."""
    top = max((item.length for item in items), default=0.0)
    lines = [row - _LABEL_ABOVE for row in range(len(items))]
    height = _LINE_PX * len(items) + _ROOM_PX
    layout = _list_layout(axis, len(items), height=height)
    layout["xaxis"]["range"] = [0, top or 1]
    return Figure(
        id=figure,
        title=title,
        description=_spoken(axis, items),
        data=(
            _bar_trace(items),
            _words([label(item.name) for item in items], at=0, y=lines, side="right"),
            _words([entities(item.text) for item in items], at=top or 1, y=lines, side="left"),
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


def _words(
    texts: Sequence[str], *, at: float, y: Sequence[float], side: Literal["left", "right"]
) -> dict[str, Any]:
    """Text labels that start or end at one x position, one per line."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": [at] * len(texts),
        "y": list(y),
        "text": list(texts),
        "textposition": f"middle {side}",
        "textfont": {"color": "var(--ink)"},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _spoken(axis: str, items: Sequence[Bar]) -> str:
    listed = "; ".join(f"{cut(name_text(item.name), LABEL_COLUMNS)}: {item.text}" for item in items)
    return f"Bars of {axis}. {listed}"


def _base_layout(*, height: int) -> dict[str, Any]:
    return {
        "height": height,
        "autosize": True,
        "dragmode": False,
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": _FONT, "size": 12, "color": "var(--soft)"},
        "hoverlabel": {
            "align": "left",
            "bgcolor": "var(--surface)",
            "bordercolor": "var(--line)",
            "font": {"family": _FONT, "size": 12, "color": "var(--ink)"},
        },
    }


def _axis(title: str, **more: object) -> dict[str, Any]:
    return {
        "title": {"text": entities(title), "standoff": 8, "font": {"size": 12}},
        "automargin": True,
        "fixedrange": True,
        "gridcolor": "var(--line)",
        "zeroline": False,
        "tickfont": {"size": 11},
        **more,
    }


def _list_layout(axis: str, rows: int, *, height: int) -> dict[str, Any]:
    layout = _base_layout(height=height)
    layout["margin"] = {"l": 6, "r": 14, "t": 0, "b": 46}
    layout["xaxis"] = _axis(axis, nticks=5, rangemode="tozero")
    layout["yaxis"] = {
        "range": [rows - 0.55, -0.55],
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "showticklabels": False,
    }
    return layout


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
            hover=_crossing_hover(name(row), row),
        )
        for row in crossing
    ]
    return bars(figure, title, by.axis, items)


def _crossing_hover(name: str, row: Row) -> str:
    lines = [f"{bytes_text(row['bytes_cross'])} crossing"]
    if "bytes_local" in row:
        lines.append(f"{bytes_text(row['bytes_local'])} local")
    dollars = NOT_KNOWN if row["usd"] is None else usd_text(row["usd"])
    return "<br>".join([label(name), *lines, entities(dollars)])


def days(rows: Sequence[Row], by: Measure) -> Figure | None:
    """One vertical bar per day; None for a single day."""
    if len(rows) < 2:  # noqa: PLR2004 (one bar compares nothing)
        return None
    layout = _base_layout(height=300)
    layout["margin"] = {"l": 8, "r": 8, "t": 12, "b": 46}
    layout["dragmode"] = "zoom"
    layout["bargap"] = 0.35
    names, axis = _day_names([str(row["day"]) for row in rows])
    layout["xaxis"] = _axis(
        axis,
        type="category",
        showgrid=False,
        fixedrange=False,
        tickangle=0,
        tickvals=names[:: -(-len(names) // _DAY_TICKS)],
    )
    is_usd = by.key == "usd"
    layout["yaxis"] = _axis(
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
        "hovertext": [_crossing_hover(row["day"], row) for row in rows],
    }
    listed = "; ".join(f"{name_text(row['day'])}: {by.text(row)}" for row in rows)
    return Figure(
        id="chart-day",
        title="Dollars per day" if is_usd else "Crossing bytes per day",
        description=f"Upright bars, one per day. {listed}",
        data=(trace,),
        layout=layout,
    )


_PANEL_PX: Final = 130
"""Height of one panel of the chart of days."""
_PANEL_GAP: Final = 0.09


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
    layout = _base_layout(height=_PANEL_PX * len(shown) + _ROOM_PX)
    layout["margin"] = {"l": 8, "r": 8, "t": 12, "b": 46}
    height = (1 + _PANEL_GAP) / max(1, len(shown))
    layout["xaxis"] = _axis(
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
        layout[f"yaxis{suffix}"] = _axis(
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


_SERIES: Final = (
    ("partitions_offline", "offline", "var(--bad)", ""),
    ("partitions_below_min_isr", "below min ISR", "var(--warn)", "/"),
    ("leaders_lost", "leaders moved", "var(--quiet)", "."),
)
_SERIES_WIDTH: Final = 0.2
_SERIES_STEP: Final = 0.225


def losses(rows: Sequence[Row], *, with_cluster: bool) -> Figure | None:
    """Three bars per rack that may be lost: offline, below min ISR, leaders that move.

    Each series has its own pattern in addition to its colour, and each bar has its number.
    """
    shown = rows[:LOSSES]
    if not shown:
        return None
    axis = "partitions (count)"
    top = max(max(row[key] for key, *_ in _SERIES) for row in shown)
    layout = _list_layout(axis, len(shown), height=84 * len(shown) + _ROOM_PX + 34)
    layout["margin"]["t"] = 34
    layout["showlegend"] = True
    layout["legend"] = {
        "orientation": "h",
        "x": 0,
        "y": 1,
        "yanchor": "bottom",
        "font": {"size": 12, "color": "var(--ink)"},
        "itemclick": "toggle",
        "traceorder": "normal",
    }
    names = [_rack_name(row, with_cluster=with_cluster) for row in shown]
    layout["xaxis"]["range"] = [0, top * 1.16 or 1]
    lines = [row - 0.36 for row in range(len(shown))]
    traces = tuple(
        _loss_trace(shown, names, key, word, color, shape, -0.14 + step * _SERIES_STEP)
        for step, (key, word, color, shape) in enumerate(_SERIES)
    )
    left_out = f", worst {len(shown)} of {len(rows):,}" if len(rows) > len(shown) else ""
    spoken = "; ".join(
        f"{cut(name_text(name), LABEL_COLUMNS)}: "
        + ", ".join(f"{count_text(row[key])} {word}" for key, word, *_ in _SERIES)
        for name, row in zip(names, shown, strict=True)
    )
    return Figure(
        id="chart-blast",
        title=f"Effect of the loss of one rack{left_out}",
        description=f"Bars of {axis} per rack lost. {spoken}",
        data=(*traces, _words([label(name) for name in names], at=0, y=lines, side="right")),
        layout=layout,
    )


def _rack_name(row: Row, *, with_cluster: bool) -> str:
    return f"{row['rack']} ({row['cluster']})" if with_cluster else str(row["rack"])


def _loss_trace(
    rows: Sequence[Row],
    names: Sequence[str],
    key: str,
    word: str,
    color: str,
    shape: str,
    offset: float,
) -> Mapping[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": word,
        "x": [row[key] for row in rows],
        "y": [index + offset for index in range(len(rows))],
        "width": _SERIES_WIDTH,
        "marker": {
            "color": color,
            "pattern": {"shape": shape, "fgcolor": "var(--surface)", "bgcolor": color, "size": 6},
        },
        "text": [count_text(row[key]) for row in rows],
        "textposition": "outside",
        "textfont": {"color": "var(--ink)", "size": 11},
        "cliponaxis": False,
        "hoverinfo": "text",
        "hovertext": [
            f"{label(name)}<br>{count_text(row[key])} {word}"
            for name, row in zip(names, rows, strict=True)
        ],
    }
