"""The summary of a run for a terminal: at most 24 lines, complete without colour.

```
Cross-rack traffic costs $274.13 per 30 days. Between $40.11 and $86.20 can be saved; $2.10 of it is
not attributed (the client group is not known: take snapshots while the clients are running). 153
of 600 partitions are not rack-safe; repair moves 153 replicas
demo: 24 brokers, 3 racks, 8 topics, 600 partitions; 1 day from 2026-11-01T00:00:00Z

bytes     457 GiB of 558 GiB cross racks (81.8 %), 99.4 GiB local, 2.17 GiB unknown
trust     95.0 % measured, 5.0 % apportioned, 0.4 % unknown rack, 3 rows quarantined

topics                        crossing       USD   share
  payments.authorised         120 GiB      $2.40  26.3 %
savings   $40.11 to $86.20 per 30 days: follower-fetch $40.11, producing up to $46.09 (bound 10 %;
          without bound up to $60.00, fullest rack 2.50 x even)
week      $63.96 after $60.12 (+6.4 %); 81.8 % of the bytes cross racks after 80.0 %
billed    Kafka explains 62.0 % of the transfer between zones that AWS billed: $62.10 of $100.16 ..

findings  289 by 5 rules
  error    spread-even          119  replicas are not spread evenly over the racks
  ..       2 more rules with 85 findings

blast     losing rack a takes 24 partitions offline, leaves 102 below min ISR and moves 186 leaders
plans     repair moves 153 replicas (42.0 GiB); proved: no plan costs less
first     Repair cluster demo: move 153 replicas (costs $0.84 once, +$12.30 per 30 days)
```

The line `week` needs a history of at least 8 days, the line `billed` the provider's own bill; each
takes the place of a topic. The caller adds one line, the path of the report. Prose is wrapped;
table cells are shortened. If not all rules fit, empty lines are removed first, then rules; the
number of removed rules is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rackwise.report.actions import sentence as first_action
from rackwise.report.billed import sentence as billed
from rackwise.report.fitting import wrapped_lines
from rackwise.report.formats import (
    NOT_KNOWN,
    NOT_THERE,
    bytes_text,
    columns,
    count_of,
    count_text,
    cut,
    duration_text,
    name_text,
    share_of,
    share_text,
)
from rackwise.report.history import week_changes
from rackwise.report.plans import outcome
from rackwise.report.ranges import cost_of
from rackwise.report.safety import unchecked_clusters
from rackwise.report.savings import sentence
from rackwise.report.sections import UNKNOWN
from rackwise.report.sentences import (
    NO_PRICE,
    NO_TRAFFIC,
    UNATTRIBUTED,
    has_traffic,
    is_fleet,
    is_priced,
    loss,
    losses,
    plain,
    rules,
    trust,
    verdict,
)
from rackwise.report.shape import check

if TYPE_CHECKING:
    from collections.abc import Mapping

    Row = Mapping[str, Any]

MAX_LINES: Final = 24
WEEK_DAYS: Final = 7
"""Weeks are compared if the history has more days than this."""
TOPICS: Final = 5
"""Maximum number of topics."""
NAMED_TOPICS: Final = 3
"""Maximum number of topics if bytes are not attributed: these bytes and their cause take lines."""
_LEAST_WIDTH: Final = 40
_HEAD: Final = 10
"""Columns of a heading such as `findings`."""
_VERDICT_LINES: Final = 5
"""Maximum lines of the verdict."""
_FINDINGS_HEAD: Final = 2
"""The lines of the findings' heading and of the empty line after the findings."""
_PROSE_LINES: Final = 2
"""Maximum lines of other paragraphs."""
_ADVICE_LINES: Final = 6
"""Maximum lines of the advice about missing input."""
_DOTS: Final = " .."
_NAME: Final = 40
"""Maximum columns of a cluster or rack name."""
_RULE: Final = 22
"""Maximum columns of a rule name."""
_CROSSING, _USD, _SHARE = 10, 11, 8
"""Columns of crossing bytes, of dollars, which may need more, and of the share."""
_LEAST_TOPIC: Final = 8
"""Columns of a topic beside ranges of dollars; with less room only the least dollars are shown."""
_BOLD, _DIM, _RED, _YELLOW = "1", "2", "31", "33"
_SEVERITY_COLORS: Final = {"error": _RED, "warning": _YELLOW, "info": _DIM}


class _Lines:
    """Collected lines; colour codes surround whole pieces of text that is already safe."""

    def __init__(self, width: int, *, color: bool) -> None:
        self.width = max(_LEAST_WIDTH, width)
        self.lines: list[str] = []
        self._has_color = color

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._has_color and text else text

    def prose(self, head: str, text: str, *, most: int = _PROSE_LINES, code: str = "") -> None:
        """A paragraph after a heading, other lines indented; text that is too long ends in dots."""
        indent = _HEAD if head else 0
        pieces = _wrap(text, self.width - indent, most)
        for index, piece in enumerate(pieces):
            start = "" if index else head
            self.lines.append(f"{start:<{indent}}{self.paint(piece, code) if code else piece}")

    def gap(self) -> None:
        self.lines.append("")

    def close_up(self, most: int) -> None:
        """Remove empty lines, the last first, until at most `most` lines remain."""
        for index in reversed(range(len(self.lines))):
            if len(self.lines) > most and not self.lines[index]:
                del self.lines[index]


def _wrap(text: str, width: int, most: int) -> list[str]:
    """Lines of at most `width` columns, wrapped at words."""
    lines = wrapped_lines(text, width)
    if len(lines) > most:
        last = lines[most - 1]
        while columns(last) + len(_DOTS) > width:
            last = last[:-1]
        lines[most - 1 :] = [last.rstrip() + _DOTS]
    return lines


def render(summary: Mapping[str, Any], *, width: int, color: bool) -> str:
    """The summary in lines of at most `width` columns (at least 40), without a final line break.

    `color`: add ANSI colours; the words say the same without them. Raises `InvalidSummary`.
    """
    check(summary)
    out = _Lines(width, color=color)
    out.prose("", plain(verdict(summary)), most=_VERDICT_LINES, code=_BOLD)
    out.lines.append(cut(_subject(summary), out.width))
    out.gap()
    _banner(out, summary)
    extra = _extra(summary)
    if has_traffic(summary):
        out.gap()
        _topics(out, summary, fewer=len(extra))
        if (saved := sentence(summary)) is not None:
            out.prose("savings", saved)
    for head, text in extra:
        out.prose(head, text, most=1)
    out.gap()
    after = _Lines(width, color=color)
    _blast(after, summary)
    _plans(after, summary)
    if urgent := first_action(summary):
        after.prose("first", urgent)
    out.close_up(MAX_LINES - len(after.lines) - len(rules(summary)) - _FINDINGS_HEAD)
    _findings(out, summary, room=MAX_LINES - len(out.lines) - len(after.lines))
    return "\n".join(line.rstrip() for line in (*out.lines, *after.lines))


def _subject(summary: Mapping[str, Any]) -> str:
    clusters = summary["clusters"]
    if len(clusters) == 1:
        cluster = clusters[0]
        what = f"{cut(name_text(cluster['name']), _NAME)}: " + ", ".join(
            count_of(cluster[f"{noun}s"], noun) for noun in ("broker", "rack", "topic", "partition")
        )
    else:
        what = count_of(len(clusters), "cluster")
    observed = summary["observed"]
    if observed is None:
        return what
    return f"{what}; {duration_text(observed['seconds'])} from {name_text(observed['from'])}"


def _banner(out: _Lines, summary: Mapping[str, Any]) -> None:
    totals = summary["verdict"]
    if has_traffic(summary):
        share = share_text(share_of(totals["bytes_cross"], totals["bytes_total"]))
        out.prose(
            "bytes",
            f"{bytes_text(totals['bytes_cross'])} of {bytes_text(totals['bytes_total'])} cross "
            f"racks ({share}), {bytes_text(totals['bytes_local'])} local, "
            f"{bytes_text(totals['bytes_unknown'])} unknown",
        )
        if not is_priced(summary):
            out.prose("price", NO_PRICE)
    else:
        out.prose("traffic", NO_TRAFFIC, most=_ADVICE_LINES)
    items = [item for item in trust(summary) if item.label != UNATTRIBUTED]
    reasons = ", ".join(f"{item.text} {item.label}" for item in items)
    if reasons:
        out.prose("trust", reasons)


def _extra(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Heads and texts of lines that few runs have; a topic gives way to each."""
    found = []
    if has_traffic(summary) and len(summary["history"]["days"]) > WEEK_DAYS:
        found.append(("week", week_changes(summary)))
    if (explained := billed(summary)) is not None:
        found.append(("billed", explained))
    return found


def _topics(out: _Lines, summary: Mapping[str, Any], *, fewer: int) -> None:
    part = summary["unattributed"]
    has_others = part is not None and part["bytes"]
    named = [row for row in summary["by_topic"] if row["topic"] != UNKNOWN]
    rows = named[: (NAMED_TOPICS if has_others else TOPICS) - fewer]
    found = [cost_of(row) for row in (*rows, *([part] if has_others else []))]
    costs, usd_head = [each.phrase() for each in found], "USD"
    # A range, or an amount that is a lower bound, is longer than an amount.
    usd_width = max([_USD, *(len(text) + 1 for text in costs)])
    if out.width - 2 - _CROSSING - usd_width - _SHARE < _LEAST_TOPIC:
        costs, usd_head = [each.low or NOT_KNOWN for each in found], "at least"
        usd_width = max([_USD, *(len(text) + 1 for text in costs)])
    room = out.width - 2 - _CROSSING - usd_width - _SHARE
    width = min(room, max([len(UNATTRIBUTED), *(columns(_topic(summary, row)) for row in rows)]))
    heads = _numbers(("crossing", usd_head, "share"), usd_width)
    out.lines.append(out.paint(f"{'topics':<{width + 2}}{heads}", _DIM))
    for row, usd in zip(rows, costs, strict=False):
        numbers = (bytes_text(row["bytes_cross"]), usd, share_text(row["share"]))
        name = cut(_topic(summary, row), width)
        out.lines.append(f"  {name}{' ' * (width - columns(name))}{_numbers(numbers, usd_width)}")
    if has_others and len(named) < NAMED_TOPICS - fewer:  # else the verdict alone has them
        name = cut(UNATTRIBUTED, width)
        numbers = (bytes_text(part["bytes_cross"]), costs[-1], NOT_THERE)
        out.lines.append(f"  {name}{' ' * (width - columns(name))}{_numbers(numbers, usd_width)}")


def _topic(summary: Mapping[str, Any], row: Row) -> str:
    name = name_text(row["topic"])
    return f"{name} ({name_text(row['cluster'])})" if is_fleet(summary) else name


def _numbers(texts: tuple[str, str, str], usd_width: int) -> str:
    crossing, usd, share = texts
    return f"{crossing:>{_CROSSING}}{usd:>{usd_width}}{share:>{_SHARE}}"


def _findings(out: _Lines, summary: Mapping[str, Any], *, room: int) -> None:
    """The heading and as many rules as fit, then the gap before the blast line."""
    broken = rules(summary)
    if not broken:
        is_open = bool(unchecked_clusters(summary))
        out.prose("findings", f"none: no rule {'that was checked ' if is_open else ''}is broken")
        out.gap()
        return
    every = count_of(summary["verdict"]["findings"], "finding")
    out.lines.append(f"{'findings':<{_HEAD}}{every} by {count_of(len(broken), 'rule')}")
    fitting = room - 2
    shown = broken if len(broken) <= fitting else broken[: max(0, fitting - 1)]
    width = max((columns(name_text(row["rule"])) for row in shown), default=0)
    for row in shown:
        out.lines.append(_rule(out, row, min(width, _RULE, out.width - _RULE)))
    rest = broken[len(shown) :]
    if rest and fitting > 0:
        left_out = count_of(sum(row["count"] for row in rest), "finding")
        text = f"  {'..':<9}{count_of(len(rest), 'more rule')} with {left_out}"
        out.lines.append(cut(text, out.width))
    out.gap()


def _rule(out: _Lines, row: Row, width: int) -> str:
    severity = cut(name_text(row["severity"]), 8)
    rule = cut(name_text(row["rule"]), width)
    start = f"  {severity:<9}{rule}{' ' * (width - columns(rule))}{count_text(row['count']):>8}  "
    room = out.width - columns(start)
    text = start + (cut(name_text(row["sentence"]), room) if room >= _HEAD else "")
    color = _SEVERITY_COLORS.get(severity, _DIM)
    return f"  {out.paint(severity, color)}{text[2 + len(severity) :]}"


def _blast(out: _Lines, summary: Mapping[str, Any]) -> None:
    worst = losses(summary)[:1]
    if not worst:
        out.prose("blast", "no broker has a rack, so no rack can be lost")
    for row in worst:
        short = {**row, "rack": cut(name_text(row["rack"]), _NAME)}
        short["cluster"] = cut(name_text(row["cluster"]), _NAME)
        out.prose("blast", loss(short, with_cluster=is_fleet(summary)))


def _plans(out: _Lines, summary: Mapping[str, Any]) -> None:
    if summary["plans"] is not None:
        out.prose("plans", outcome(summary, has_dollars=False))
