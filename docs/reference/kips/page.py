"""The page of three KIPs: each normative sentence with its file, its tests and its verdict.

The rows are in the TOML files beside this file, one file for each KIP. `tests/house/test_kips.py`
checks that what they name exists.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from os.path import relpath
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
FOLDER = "docs/reference"
"""The folder of the page."""
FILES = ("kip-36.toml", "kip-879.toml", "kip-426.toml")
VERDICTS = ("whole", "different", "partial", "missing")
HEAD = """\
# Three KIPs, sentence by sentence

Rackwise implements KIP-36, KIP-879 and KIP-426. Each row of the tables is one normative sentence of
a KIP in few words, with the code that implements it, the tests that prove it, and a verdict:

| verdict | means |
|---|---|
| whole | The code does what the sentence says. |
| different | The code does something else. The row has the reason, and a link to its document. |
| partial | The code does a part of it. The row names what is missing. |
| missing | The code does nothing of it. |

A test of this repository fails if a row has no test, or names code, a test or a document that does
not exist.
"""


class Sentence(NamedTuple):
    """One normative sentence of a KIP."""

    says: str
    """The sentence in few words."""
    code: str
    """`core/racks.py::Rack.levels`: a file below `src/rackwise` and a symbol in it."""
    tests: list[str]
    """`tests/core/test_racks.py::TestLevels::test_prefix`: a class, or a function."""
    verdict: str
    """One of `VERDICTS`."""
    because: str = ""
    """The reason why it is different."""
    stated: str = ""
    """`docs/guides/serve.md#limits`: the section that states the reason."""
    lacks: str = ""
    """What is missing."""


class Section(NamedTuple):
    """A section of a KIP."""

    name: str
    sentences: tuple[Sentence, ...]


class Kip(NamedTuple):
    """A KIP."""

    number: int
    title: str
    link: str
    sections: tuple[Section, ...]

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of all sections."""
        return tuple(each for section in self.sections for each in section.sentences)


def read_kips() -> tuple[Kip, ...]:
    """The KIPs with their rows. Raises `TypeError` for a key that a row does not have."""
    return tuple(_kip(tomllib.loads((HERE / name).read_text(encoding="utf-8"))) for name in FILES)


def _kip(table: dict[str, object]) -> Kip:
    sections = tuple(
        Section(name=each["name"], sentences=tuple(Sentence(**row) for row in each["row"]))
        for each in table.pop("section")
    )
    return Kip(**table, sections=sections)


def page() -> str:
    """The tables of all KIPs, and how many rows have each verdict."""
    kips = read_kips()
    lines = [HEAD, f"| KIP | rows | {' | '.join(VERDICTS)} |", "|---|---|---|---|---|---|"]
    for kip in kips:
        counts = Counter(each.verdict for each in kip.sentences)
        cells = " | ".join(f"{counts[verdict]}" for verdict in VERDICTS)
        lines.append(f"| KIP-{kip.number} | {len(kip.sentences)} | {cells} |")
    for kip in kips:
        lines += ["", f"## KIP-{kip.number}: {kip.title}", "", f"[The text of the KIP]({kip.link})"]
        for section in kip.sections:
            lines += ["", f"### {section.name} (KIP-{kip.number})", ""]
            lines += ["| sentence | code | tests | verdict |", "|---|---|---|---|"]
            lines += map(_row, section.sentences)
    return "\n".join(lines) + "\n"


def _row(sentence: Sentence) -> str:
    cells = (
        sentence.says,
        _link(f"src/rackwise/{sentence.code}"),
        "<br>".join(map(_link, sentence.tests)),
        _verdict(sentence),
    )
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def _link(reference: str) -> str:
    """A link to the file with the symbol beside it."""
    path, _, symbol = reference.partition("::")
    return f"[{Path(path).name}]({relpath(path, FOLDER)}) `{symbol}`"


def _verdict(sentence: Sentence) -> str:
    if sentence.verdict == "different":
        path, _, _ = sentence.stated.partition("#")
        document = f"[{Path(path).name}]({relpath(sentence.stated, FOLDER)})"
        return f"different: {sentence.because} {document}"
    return f"{sentence.verdict}: {sentence.lacks}" if sentence.lacks else sentence.verdict
