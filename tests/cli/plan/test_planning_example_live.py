"""The walk of a plan there and back, as a person runs it, on real brokers of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

WALK = Path(__file__).parents[3] / "examples" / "planning" / "there_and_back.py"
EXITS = {
    "audit": ["2", "0"],
    "plan": ["2"],
    "proof": ["0"],
    "apply": ["0"],
    "status": ["0"],
    "rollback": ["0"],
    "diff": ["0"],
}


@pytest.mark.kafka
@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_walk_ends_where_it_began():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", WALK],
        capture_output=True,
        text=True,
        check=False,
        timeout=570,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for verb, codes in EXITS.items():
        found = re.findall(
            rf"^\$ rackwise {verb} .*?^exit (\d)", done.stdout, re.DOTALL | re.MULTILINE
        )
        assert found == codes, verb
    assert re.search(r"^7 moves: 7 done, 0 failed.*\nexit 0$", done.stdout, re.MULTILINE)
    assert re.search(
        r"^lists and leaders of all 10 partitions are as before$", done.stdout, re.MULTILINE
    )
    assert re.search(r"^all \d+ acknowledged records are read back", done.stdout, re.MULTILINE)
