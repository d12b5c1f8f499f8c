"""The report as one offline HTML page: no network, no external address, a strict policy.

```
<meta CSP>            default-src 'none'; only styles and scripts with a listed hash apply
<style>               style.css
<section> x 9         tables and places for charts; complete without scripts
<script json>         figures of the charts, data and no code
<script text> packed  compressed: other rows of the tables, and each cluster of a fleet
<!-- licence -->      of plotly.js, whose own notice is compressed with it
<script text> plotly  compressed to a third of its size
<script>              unpack.js: unpacks
                      charts.js: draws, follows the colour scheme and the printer
                      tables.js: sorts and filters the tables
                      choice.js: shows one cluster of a fleet
```

The policy allows plotly by its hash only: it names the hash of plotly's unpacked text, so that this
text may run and no other text may. Plotly adds its CSS rules to the stylesheet with the id
`plotly.js-style-global`, through the object model of that stylesheet. The policy allows this, and
our own stylesheet has that id. The stylesheet of plotly's maps would be a second `<style>`, which
the policy forbids. Plotly omits it if an element with a certain id exists; the script element that
holds plotly has that id. None of the chart types used here evaluates text as code. A browser that
cannot unpack shows only the tables, with their first rows.

The packed rows are markup of the same templates as the page, so that each name in them is escaped
by the same rule. Links lead to sections, or to files in the folder of the report.

What this does not do: compute numbers other than sums of the rows shown.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rackwise.core.text import escaped
from rackwise.report import actions as first
from rackwise.report import billed, history, sections, sentences
from rackwise.report import plans as planned
from rackwise.report import savings as saving_section
from rackwise.report.cards import cards
from rackwise.report.charts import SEVERITY_SIGNS
from rackwise.report.clusters import chosen_clusters
from rackwise.report.formats import count_of, count_text, duration_text, name_text
from rackwise.report.heat import heat_maps
from rackwise.report.safety import why_open
from rackwise.report.shape import check
from rackwise.report.tables import is_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.report.charts import Figure
    from rackwise.report.tables import Table

_MAP_STYLE_ID = re.compile(r'document\.getElementById\("([0-9a-f]{64})"\)')
SCRIPTS = ("unpack.js", "charts.js", "tables.js", "choice.js")
_UNSAFE_IN_SCRIPT = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def render(summary: Mapping[str, Any]) -> str:
    """The whole page for a `rackwise.summary/1` document; the same summary gives the same bytes.

    Raises `InvalidSummary` with the JSON path of the first fault.
    """
    check(summary)
    environment = _environment()
    page = environment.get_template("report.html.j2")
    return page.render(_content(summary) | _fixed())


def _packed_text(text: str) -> str:
    return b64encode(zlib.compress(text.encode(), 9)).decode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rackwise.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "signs": SEVERITY_SIGNS,
        "is_file": is_file,
        "count_of": count_of,
        "count_text": count_text,
    }
    return environment


def _shown(value: object) -> object:
    """The text of a value on the page; control and bidi characters are escaped in every text."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return escaped(value)


@cache
def _fixed() -> dict[str, Any]:
    """The stylesheet and scripts, the same in every report, and the policy with their hashes."""
    from plotly.offline import get_plotlyjs

    plotly = get_plotlyjs()
    style, script = _asset("style.css"), "\n".join(map(_asset, SCRIPTS))
    map_style = _MAP_STYLE_ID.search(plotly)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {_hash(plotly)} {_hash(script)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return {
        "policy": policy,
        "style": Markup(style),  # noqa: S704 (our own file)
        "script": Markup(script),  # noqa: S704 (our own file)
        "plotly": _packed_text(plotly),
        "licence": Markup(_asset("licence.txt")),  # noqa: S704 (our own file)
        "map_style_id": map_style.group(1) if map_style else "plotly",
    }


def _asset(name: str) -> str:
    loader = _environment().loader
    if loader is None:
        raise LookupError(name)
    return loader.get_source(_environment(), name)[0]


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _content(summary: Mapping[str, Any]) -> dict[str, Any]:
    has_traffic = sentences.has_traffic(summary)
    maps, more_maps = heat_maps(summary["matrix"])
    top = sections.top(summary) if has_traffic else ()
    days = sections.days(summary) if has_traffic else None
    savings = saving_section.section(summary)
    findings, blast = sections.findings(summary), sections.blast(summary)
    clusters = sections.clusters(summary) if sentences.is_fleet(summary) else None
    past = history.section(summary)
    blocks = [
        *([clusters] if clusters else []),
        *top,
        *([days] if days else []),
        *([past] if past else []),
        findings,
        blast,
    ]
    blocks += [savings.waterfall] if savings else []
    figures = [block.figure for block in blocks if block.figure]
    verdict = sentences.verdict(summary)
    observed = summary["observed"]
    topics, worst = sections.topics(summary), sections.worst(summary)
    not_checked = sections.not_checked(summary)
    method = sections.method(summary)
    repair = _plans(summary)
    provider_bill = [found for found in (billed.days(summary), billed.left_out(summary)) if found]
    tables = [block.table for block in blocks] + provider_bill
    tables += [topics, worst, not_checked, *method, repair["plans"], repair["unplanned"]]
    tables += [savings.bounds, savings.largest] if savings else []
    return {
        "summary": summary,
        "title": sentences.plain(verdict),
        "verdict": verdict,
        "cards": cards(summary),
        "trust": sentences.trust(summary),
        "has_traffic": has_traffic,
        "is_priced": sentences.is_priced(summary),
        "is_fleet": sentences.is_fleet(summary),
        "duration": duration_text(observed["seconds"]) if has_traffic else None,
        "no_traffic": sentences.NO_TRAFFIC,
        "add_traffic": sentences.ADD_TRAFFIC,
        "no_price": sentences.NO_PRICE,
        "replication": sentences.REPLICATION,
        "clusters": clusters,
        "maps": maps,
        "more_maps": more_maps,
        "top": top,
        "days": days,
        "history": past,
        "billed": billed.sentence(summary),
        "billed_tables": provider_bill,
        "week": sentences.plain([sentences.Phrase(history.week(summary))]),
        "savings": savings,
        "findings": findings,
        "topics": topics,
        "worst": worst,
        "not_checked": not_checked,
        "why_open": why_open(summary),
        "blast": blast,
        "worst_loss": [
            sentences.loss(row, with_cluster=sentences.is_fleet(summary))
            for row in sentences.losses(summary)[:1]
        ],
        "actions": first.actions(summary),
        **repair,
        "method": method,
        "figures": _script_data(figures),
        "packed": _packed(summary, tables),
    }


def _packed(summary: Mapping[str, Any], tables: Iterable[Table]) -> str:
    """The rows of tables that the page does not show at first, and each cluster of a fleet."""
    parts: Any = _environment().get_template("parts.html.j2").module
    clusters = chosen_clusters(summary) if sentences.is_fleet(summary) else ()
    priced = sentences.is_priced(summary)
    content = {
        "rows": {
            table.id: str(parts.rows(table.columns, table.packed))
            for table in tables
            if table.packed
        },
        "clusters": {
            name_text(view.name): {
                "facts": str(parts.facts(view.facts)),
                "maps": str(parts.heat_maps(view.maps, False, priced)),  # noqa: FBT003 (template)
                "figures": {
                    block.figure.id: {"data": block.figure.data, "layout": block.figure.layout}
                    for block in view.blocks
                    if block.figure
                },
                "tables": {
                    block.table.id: str(parts.rows(block.table.columns, block.table.every))
                    for block in view.blocks
                    if block.table.id == history.TABLE
                },
            }
            for view in clusters
        },
    }
    return _packed_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def _plans(summary: Mapping[str, Any]) -> dict[str, Any]:
    has_plans = summary["plans"] is not None
    goal = summary["plans"]["goal"] if has_plans else ""
    return {
        "has_plans": has_plans,
        "no_plans": planned.NOT_REQUESTED,
        "goal": planned.GOALS.get(goal, f"Goal {goal}"),
        "outcome": sentences.plain([sentences.Phrase(planned.outcome(summary))])
        if has_plans
        else "",
        "plans": planned.plans(summary),
        "plan_notes": planned.monthly_notes(summary),
        "unplanned": planned.unplanned(summary),
        "commands": planned.commands(summary),
    }


def _script_data(figures: Iterable[Figure]) -> Markup:
    """The figures as JSON that never contains the end tag of its script element."""
    data = {figure.id: {"data": figure.data, "layout": figure.layout} for figure in figures}
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return Markup(text.translate(_UNSAFE_IN_SCRIPT))  # noqa: S704 (escaped for its element)
