"""The chart of rack losses: what goes offline or below min ISR if a rack is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rackwise.report.charts.figure import (
    AXIS_PX,
    LABEL_COLUMNS,
    Figure,
    label,
    line_labels,
    list_layout,
)
from rackwise.report.formats import count_text, cut, name_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.report.charts.figure import Row

LOSSES: Final = 8
"""Maximum number of racks in the chart of rack losses."""
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
    layout = list_layout(axis, len(shown), height=84 * len(shown) + AXIS_PX + 34)
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
        data=(*traces, line_labels([label(name) for name in names], at=0, y=lines, side="right")),
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
