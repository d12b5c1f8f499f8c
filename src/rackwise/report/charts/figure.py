"""A chart as plotly draws it, and the texts, axes and layouts that all charts share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rackwise.report.formats import cut, name_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, Any]

LABEL_COLUMNS: Final = 30
"""Maximum columns of a name in a chart."""
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
AXIS_PX: Final = 58
"""Height of the axis below the bars."""


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


def base_layout(*, height: int) -> dict[str, Any]:
    """The layout that all charts share; `height`: in pixels."""
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


def axis_layout(title: str, **more: object) -> dict[str, Any]:
    """The layout of an axis with this title; `more`: further settings of plotly."""
    return {
        "title": {"text": entities(title), "standoff": 8, "font": {"size": 12}},
        "automargin": True,
        "fixedrange": True,
        "gridcolor": "var(--line)",
        "zeroline": False,
        "tickfont": {"size": 11},
        **more,
    }


def list_layout(axis: str, rows: int, *, height: int) -> dict[str, Any]:
    """The layout of a list of horizontal bars, one line per row."""
    layout = base_layout(height=height)
    layout["margin"] = {"l": 6, "r": 14, "t": 0, "b": 46}
    layout["xaxis"] = axis_layout(axis, nticks=5, rangemode="tozero")
    layout["yaxis"] = {
        "range": [rows - 0.55, -0.55],
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "showticklabels": False,
    }
    return layout


def line_labels(
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
