"""Links resolve, the map is whole, and what README shows runs."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from rackwise.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_resolve(page):
    targets = LINK.findall(page.read_text())
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_generated_pages_are_fresh():
    script = ROOT / "docs" / "reference" / "generate.py"
    made = runpy.run_path(str(script))["PAGES"]
    stale = [name for name, make in made.items() if (script.parent / name).read_text() != make()]
    assert stale == [], "run python docs/reference/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_shown_exists_with_its_options(page):
    commands = get_command(app).commands
    for language, text in BLOCK.findall(page.read_text()):
        if language not in {"console", "sh"}:
            continue
        for line in text.replace("\\\n", " ").splitlines():
            words = (
                shlex.split(line.removeprefix("$ "), comments=True) if "rackwise " in line else []
            )
            if not words or words[0] != "rackwise":
                continue
            command = commands[words[1]]
            options = {name for parameter in command.params for name in parameter.opts}
            options |= {"--json", "--quiet", "--debug", "--color", "--max-input"}
            assert {w.split("=")[0] for w in words if w.startswith("--")} <= options, line


def test_python_blocks_of_the_readme_run():
    blocks = [
        text
        for language, text in BLOCK.findall((ROOT / "README.md").read_text())
        if language == "python"
    ]
    assert blocks
    for text in blocks:
        exec(compile(text, "README.md", "exec"), {"__name__": "readme"})  # noqa: S102 (our own text)


def test_the_readme_fits():
    assert len((ROOT / "README.md").read_text().splitlines()) < 200


def shown() -> list[tuple[list[str], list[str]]]:
    """The commands of the README on bundled data, each with the lines it is said to print."""
    text = next(t for k, t in BLOCK.findall((ROOT / "README.md").read_text()) if k == "console")
    parts = re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    lines = [part.splitlines() for part in parts]
    return [(shlex.split(first)[1:], [r for r in rest if r != "..."]) for first, *rest in lines]


def printed(words: list[str], out: Path) -> str:
    words = [str(out) if word == "build/demo" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-m", "rackwise.cli", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )
    return done.stdout.replace(str(out), "build/demo")


def test_the_audit_shown_is_what_is_printed(tmp_path):
    words, lines = shown()[0]
    output = printed(words, tmp_path).splitlines()
    assert words[0] == "audit"
    assert [line for line in lines if line not in output] == []


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_the_bill_shown_is_what_is_printed(tmp_path):
    words, lines = shown()[1]
    output = printed(words, tmp_path).splitlines()
    assert words[0] == "analyze"
    assert [line for line in lines if line not in output] == []
