"""Text output for people: columns, labelled lines, sizes, findings, unchecked rules, colours.

On a terminal, tables and lines fit its width. Text is wrapped at spaces; a name that has no room is
cut in the middle, as in `payments..events-12`. Everywhere a word of more than 300 characters and
a cell of more than 1,000 are cut. Documents of `--json` keep whole names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.shell import terminal_width
from rackwise.core.findings import NOT_ASKED_FOR, Severity
from rackwise.core.text import MOST_WORD, escaped, with_short_words
from rackwise.report.fitting import plain, wrapped_lines
from rackwise.report.formats import columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rackwise.core.findings import Finding, Rule


RULES_SHOWN = 8
"""The text names up to this many rules that were not asked for."""
SHOWN = 50
"""The text lists this many findings or partitions; the JSON document has all."""


COLORS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}
"""Severity, worst first -> ANSI colour."""


LABEL = 9
"""Width of the labels of `labelled_text`."""
GAP = 2
"""Columns between two columns of a table."""
MOST_CELL = 1_000
"""Characters of a cell. A name may have as many words as it likes, and each line takes a few."""
LONG_NAME, SHORT_NAME = 24, 8
"""Columns that a table keeps for a longer name: if its other columns have room, and if not."""


def cluster_title(cluster_id: str | None, name: str | None) -> str:
    """`prod-eu (5L6g3nShT-eMCtK--X86sw)`: what people call a cluster, and its id.

    >>> cluster_title("5L6g", None), cluster_title(None, "prod-eu"), cluster_title(None, None)
    ('5L6g', 'prod-eu', 'cluster')
    """
    if name and cluster_id and name != cluster_id:
        return escaped(f"{name} ({cluster_id})")
    return escaped(name or cluster_id or "cluster")


def ids(brokers: Iterable[int]) -> str:
    """Format broker ids: `1,2,4`."""
    return ",".join(map(str, brokers))


def columns_text(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[int],
    mark: str = "",
) -> str:
    """Align columns, two spaces apart. `numbers`: the columns to align to the right.

    `mark`: the start of each line.

    >>> print(columns_text(("rack", "lost"), [("/eu/a", "3"), ("/eu/b", "12")], numbers=[1]))
    rack   lost
    /eu/a     3
    /eu/b    12
    """
    return "\n".join(aligned_lines([header, *rows], numbers=numbers, mark=mark))


def aligned_lines(
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[int] = (),
    mark: str = "",
) -> list[str]:
    """Align columns without a header, two spaces apart. `mark`: the start of each line.

    The lines fit the terminal, if there is one.

    >>> aligned_lines([("orders-4", "1,2 -> 1,3", "rack"), ("a-0", "1 -> 2", "fair")], mark="~ ")
    ['~ orders-4  1,2 -> 1,3  rack', '~ a-0       1 -> 2      fair']
    """
    if not rows:
        return []
    rows = _with_short_cells(rows)
    width = terminal_width()
    if width is not None:
        return _fitted_rows(rows, width - columns(plain(mark)), numbers=numbers, mark=mark)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    # One format of a whole row: a diff has a row for each of up to a million partitions.
    template = "  ".join(
        f"%{width}s" if index in numbers else f"%-{width}s" for index, width in enumerate(widths)
    )
    return [mark + (template % tuple(row)).rstrip() for row in rows]


def _with_short_cells(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """The rows, with the middle left out of cells that no name of Kafka's topics would fill."""
    if max(max(map(len, row), default=0) for row in rows) <= MOST_WORD:
        return rows
    return [[with_short_words(cell, MOST_CELL) for cell in row] for row in rows]


def _fitted_rows(
    rows: Sequence[Sequence[str]], width: int, *, numbers: Collection[int], mark: str
) -> list[str]:
    """Align columns in `width`; a cell that has too little room takes several lines."""
    cells_of = list(zip(*rows, strict=True))
    widths = [max(map(columns, cells)) for cells in cells_of]
    room = width - GAP * (len(widths) - 1)
    if sum(widths) > room:
        words = [
            max(columns(word) for cell in cells for word in cell.split(" ")) for cells in cells_of
        ]
        # Long names are cut first, then cells are wrapped at spaces, then shorter names are cut.
        widths = _narrowed(widths, [min(each, LONG_NAME) for each in widths], room)
        widths = _narrowed(widths, words, room)
        widths = _narrowed(widths, [min(each, SHORT_NAME) for each in words], room)
    lines = []
    for row in rows:
        cells = [wrapped_lines(cell, size) for cell, size in zip(row, widths, strict=True)]
        for index in range(max(map(len, cells))):
            parts = []
            for column, (cell, size) in enumerate(zip(cells, widths, strict=True)):
                text = cell[index] if index < len(cell) else ""
                gap = " " * (size - columns(text))
                parts.append(gap + text if column in numbers else text + gap)
            start = mark if not index else " " * columns(plain(mark))
            lines.append((start + (" " * GAP).join(parts)).rstrip())
    return lines


def _narrowed(widths: list[int], least: Sequence[int], room: int) -> list[int]:
    """Take from the widest column first, and from none more than down to `least`."""
    widths = widths.copy()
    while sum(widths) > room:
        wide = [index for index, size in enumerate(widths) if size > least[index]]
        if not wide:
            break
        widest = max(wide, key=lambda index: widths[index])
        others = [widths[index] for index in wide if widths[index] < widths[widest]]
        floor = max([least[widest], *others])
        # Down to the next column at once: a name may have hundreds of characters.
        taken = min(max(widths[widest] - floor, 1), sum(widths) - room)
        widths[widest] -= taken
    return widths


def arrow_column(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Format pairs as cells of one column, their arrows below each other.

    >>> arrow_column([("1,2,4", "1,3,4"), ("1", "2")])
    ['1,2,4 -> 1,3,4', '1     -> 2']
    """
    width = max((len(before) for before, _ in pairs), default=0)
    return [f"{before.ljust(width)} -> {after}" for before, after in pairs]


def labelled_text(rows: Iterable[tuple[str, str]]) -> str:
    """Format one line per label and text. A row without a text is left out.

    >>> print(labelled_text([("goal", "repair"), ("price", ""), ("proof", "proved")]))
    goal     repair
    proof    proved
    """
    return "\n".join(f"{label.ljust(LABEL)}{text}".rstrip() for label, text in rows if text)


def summary_text(counts: Mapping[str, int], rules: Mapping[str, Rule]) -> str:
    """List the rules with findings. `counts`: rule -> number of findings."""
    if not counts:
        return "no findings"
    rows = [
        (rule, str(rules[rule].severity), str(count), rules[rule].sentence)
        for rule, count in counts.items()
    ]
    return columns_text(("rule", "severity", "findings", "broken when"), rows, numbers={2})


def severity_text(severity: Severity, *, has_color: bool) -> str:
    """Format the severity, padded to one width."""
    text = severity.ljust(max(map(len, COLORS)))
    return f"\x1b[{COLORS[severity]}m{text}\x1b[0m" if has_color else text


def finding_text(finding: Finding, *, has_color: bool) -> str:
    """Format one finding: its severity and its message."""
    return f"{severity_text(finding.severity, has_color=has_color)} {escaped(finding.message)}"


def rest_lines(total: int) -> list[str]:
    """Format how many rows the text does not list; empty if it lists all.

    >>> rest_lines(60), rest_lines(50)
    (['and 10 more; --json has all 60'], [])
    """
    return [f"and {total - SHOWN} more; --json has all {total}"] if total > SHOWN else []


def skipped_text(not_checked: Mapping[str, str]) -> str:
    """List the rules that were not checked, by reason; empty if all were checked.

    Only rules that were not asked for may be counted instead: the others could not be checked.

    >>> print(skipped_text(dict.fromkeys("abcdefghi", "not asked for")))
    not checked
      9 rules: not asked for; --json has all
    """
    by_reason: dict[str, list[str]] = {}
    for rule, reason in not_checked.items():
        by_reason.setdefault(reason, []).append(rule)
    lines = [
        f"  {', '.join(rules)}: {escaped(reason)}"
        if len(rules) <= RULES_SHOWN or reason != NOT_ASKED_FOR
        else f"  {len(rules)} rules: {escaped(reason)}; --json has all"
        for reason, rules in by_reason.items()
    ]
    return "\n".join(["not checked", *lines]) if lines else ""
