"""Plain English: phrases that readers had to read twice are rejected, each with a replacement."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = ("src/", "docs/", "examples/", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
READ += ("CHANGELOG.md", "Makefile", ".ci/run")

INSTEAD = {
    r"\b(?:is|are) wanted\b": "expected ..., or: is needed",
    r"\b(?:was|were) read[;\"']": "got ...",
    r"\b(?:was|were) given[;\"']": "got ...",
    r"\bstands? twice\b": "appears twice",
    r"\bcarr(?:y|ies|ied|ying) (?:\w+ )?out\b": "execute",
    r"throttles? (?:\w+ ){0,2}put on\b": "set (a throttle)",
    r"\b(?:take|takes|taken|taking) off\b": "clear (a throttle)",
    r"\b(?:take|takes|taken|taking) back\b": "undo, roll back",
    r"\blevers?\b": "saving",
    r"\bwiden(?:s|ed|ing)?\b": "expand",
    r"\bwhoever\b": "name the subject",
    r"\bheed(?:s|ed)?\b": "respect, follow",
    r"\bfates?\b": "outcome",
    r"\b(?:is|are|was|were) told\b": "reports, prints, knows",
    r"\btold apart\b": "distinguished",
    r"\bgo(?:es|ne)? on with\b": "continue",
    r"\bwhat stands there\b": "the current value",
    r"\bmade whole\b": "repaired",
    r"\bwould make of\b": "the result of",
}
"""Phrase -> the field's words."""


def files():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [
        ROOT / name
        for name in listed
        if name.startswith(READ)
        and Path(name).suffix in {".py", ".pyi", ".md", ".toml", ".j2", ""}
        and (ROOT / name).is_file()
    ]


def text_of(file):
    """The text; the changelog without its list of old names."""
    return file.read_text(errors="replace").partition("\n### Renamed\n")[0]


@pytest.mark.parametrize("phrase", INSTEAD)
def test_no_text_holds_a_phrase_of_the_house_alone(phrase):
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files()
        for number, line in enumerate(text_of(file).splitlines(), 1)
        if re.search(phrase, line, re.IGNORECASE)
    ]
    assert found == [], f"write: {INSTEAD[phrase]}"


EXAMPLES = (
    "a rack is wanted; none was given; 3 was read; a key stands twice; the plan is carried out; "
    "throttles are put on, then taken off, and taken back; each lever; widen it; whoever asks; "
    "heed racks; the fate of a row; as it is told; kinds are told apart; a run goes on with it; "
    "what stands there; made whole; what range would make of it"
)


@pytest.mark.parametrize("phrase", INSTEAD)
def test_a_phrase_would_be_found(phrase):
    assert re.search(phrase, EXAMPLES)
