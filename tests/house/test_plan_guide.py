"""The guide of planning and the tour show real output: their commands run in order."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shown_commands import ROOT, TOUR, missing_lines, shown_commands

GUIDE = ROOT / "docs" / "guides" / "plan-and-apply.md"
OFFLINE = ("plan", "proof", "explain", "diff", "what-if")


@pytest.mark.parametrize(
    ("page", "verbs"),
    [
        (TOUR, ["plan", "proof", "diff", "what-if"]),
        (GUIDE, ["plan", "proof", "explain", "explain", "plan", "plan", "what-if", "diff"]),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_what_is_shown_is_what_is_printed(tmp_path, page, verbs):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    seen = []
    for shown in shown_commands(page):
        if shown.words[0] not in OFFLINE or "--bootstrap-server" in shown.words:
            continue
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", *shown.words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "100"},
        )
        assert missing_lines(shown, done.stdout) == [], shown.words
        assert done.returncode in {0, 2}, done.stderr
        seen.append(shown.words[0])
    assert seen == verbs
