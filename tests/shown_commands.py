"""The blocks of a page, and the commands of its `console` blocks with their output."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TOUR = ROOT / "docs" / "tour.md"
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


class Shown(NamedTuple):
    """One command: its heading, its words without the program, the lines it prints."""

    heading: str
    words: list[str]
    lines: list[str]


def blocks_of(page, language):
    """The blocks of a language, each with its heading."""
    text = page.read_text()
    for match in BLOCK.finditer(text):
        if match[2] == language:
            above = [heading[1] for heading in HEADING.finditer(text, 0, match.start())]
            yield above[-1], dedent(match[3])


def shown_commands(page):
    """Every command of the page, in order; `...` in its output stands for any lines."""
    for heading, block in blocks_of(page, "console"):
        for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            first, *lines = part.splitlines()
            yield Shown(heading, shlex.split(first)[1:], [each for each in lines if each != "..."])


def missing_lines(shown, output):
    """Shown lines that were not printed; a line that ends with `...` is the start of a line."""
    printed = output.splitlines()
    return [
        line
        for line in shown.lines
        if line not in printed
        and not (line.endswith("...") and any(each.startswith(line[:-3]) for each in printed))
    ]
