"""Lines that fit a width: wrapped at spaces, long names cut in the middle."""

from __future__ import annotations

import re
from typing import Final

from rackwise.report.formats import columns, cut

COLOR: Final = re.compile(r"\x1b\[[0-9;]*m")
HEAD: Final = re.compile(
    r" *(?:(?:\x1b\[[0-9;]*m)?(?:(?:error|warning|info|hint)\b:? *|[~!?] )(?:\x1b\[[0-9;]*m)? *"
    r"|[^ \x1b]+  +)?"
)
"""The start of a line that its rest stands below: spaces, a label or a severity."""
COMMAND: Final = re.compile(r"(?:^|[ `])rackwise [a-z]")


def wrapped_lines(text: str, width: int, *, has_cuts: bool = True) -> list[str]:
    """Lines of at most `width` columns, wrapped at spaces; a longer word is cut in the middle.

    `has_cuts`: with False a longer word keeps all its characters, and its line is longer.

    >>> wrapped_lines("losing /eu/a takes 24 partitions offline", 16)
    ['losing /eu/a', 'takes 24', 'partitions', 'offline']
    """
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else ""
        if lines and columns(longer) <= width:
            lines[-1] = longer
        elif word or not lines:
            lines.append(cut(word, width) if has_cuts else word)
    return [line.rstrip(" ") for line in lines]


def fitted(text: str, width: int | None, *, has_cuts: bool = True) -> str:
    """Wrap lines that are longer than `width`; the rest of a line stands below its start.

    A line with a command is kept as it is, so that people can copy it. `has_cuts` as in
    `wrapped_lines`. `width`: None is no limit.

    >>> print(fitted("goal     repair, fewest replicas, of a hypothetical cluster", 32))
    goal     repair, fewest
             replicas, of a
             hypothetical cluster
    """
    if width is None:
        return text
    return "\n".join(
        piece for line in text.split("\n") for piece in _fitted_line(line, width, has_cuts=has_cuts)
    )


def _fitted_line(line: str, width: int, *, has_cuts: bool) -> list[str]:
    if columns(plain(line)) <= width or COMMAND.search(line):
        return [line]
    head = HEAD.match(line)
    start = "" if head is None else head[0]
    hang = columns(plain(start))
    if hang > width // 2:
        start, hang = "", 0
    room = width - hang
    fitting: list[str] = []
    for piece in wrapped_lines(line[len(start) :], room, has_cuts=False):
        before = " " * hang if fitting else start
        if fitting and room < columns(piece) <= width:
            fitting.append(piece)  # a word that fits alone is kept: it may be a setting to copy
        else:
            fitting.append(before + (cut(piece, room) if has_cuts else piece))
    return fitting


def plain(text: str) -> str:
    """The text without colours."""
    return COLOR.sub("", text)
