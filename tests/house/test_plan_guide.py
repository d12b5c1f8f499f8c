"""The guide of planning shows what is printed: its commands run one after the other."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "plan-and-apply.md"
BLOCK = re.compile(r"^( *)```console\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
OFFLINE = ("plan", "proof", "diff", "what-if")


def commands():
    """The words of each command that needs no cluster, and the lines it is said to print."""
    for indent, block in BLOCK.findall(GUIDE.read_text()):
        text = "".join(
            line.removeprefix(indent) for line in block.splitlines(keepends=True)
        ).replace("\\\n", " ")
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            first, *lines = part.splitlines()
            words = shlex.split(first)[1:]
            if words[0] in OFFLINE and "--bootstrap-server" not in words:
                yield words, lines


def test_what_is_shown_is_what_is_printed(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    seen = []
    for words, lines in commands():
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "100"},
        )
        output = done.stdout.splitlines()
        assert [line for line in lines if line not in {"...", *output}] == [], words
        assert done.returncode in {0, 2}, done.stderr
        seen.append(words[0])
    assert seen == ["plan", "proof", "plan", "what-if", "diff"]
