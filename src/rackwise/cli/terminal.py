"""The width of the terminal, and lines that fit it."""

from __future__ import annotations

import os
import re
import sys
from typing import Final

from rackwise.report.formats import columns, cut, wrapped_lines

COLOR: Final = re.compile(r"\x1b\[[0-9;]*m")
HEAD: Final = re.compile(
    r" *(?:(?:\x1b\[[0-9;]*m)?(?:(?:error|warning|info|hint)\b:? *|[~!?] )(?:\x1b\[[0-9;]*m)? *"
    r"|[^ \x1b]+  +)?"
)
"""The start of a line that its rest stands below: spaces, a label or a severity."""
COMMAND: Final = re.compile(r"(?:^|[ `])rackwise [a-z]")


def terminal_width(*, stderr: bool = False) -> int | None:
    """Return the columns of the terminal; None if the stream goes elsewhere."""
    try:
        return os.get_terminal_size((sys.stderr if stderr else sys.stdout).fileno()).columns or None
    except (AttributeError, OSError, ValueError):  # a stream may be any object
        return None


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
