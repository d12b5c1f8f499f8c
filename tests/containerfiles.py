"""The stages and instructions of a Containerfile."""

from __future__ import annotations

import json
import re
from typing import NamedTuple


class Instruction(NamedTuple):
    """One instruction, its continued lines joined."""

    word: str
    text: str

    @property
    def words(self):
        """Its parts: of a JSON list, or separated by spaces."""
        return json.loads(self.text) if self.text.startswith("[") else self.text.split()  # noqa: TID251 (our own text)


class Stage(NamedTuple):
    """A stage: its name, what it begins from, and its instructions."""

    name: str
    base: str
    instructions: list[Instruction]


def stages_of(text):
    """Name -> stage, in order."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    stages = {}
    for line in filter(str.strip, text.splitlines()):
        word, rest = line.split(maxsplit=1)
        if word == "FROM":
            base, _, name = rest.split()
            stages[name] = Stage(name, base, [])
        elif stages:
            stages[name].instructions.append(Instruction(word, " ".join(rest.split())))
    return stages


def line_of(stages, target):
    """The instructions that make a target: of its bases first, and then its own."""
    stage = stages[target]
    before = line_of(stages, stage.base) if stage.base in stages else []
    return [*before, *stage.instructions]
