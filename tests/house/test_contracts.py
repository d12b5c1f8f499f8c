"""Each import contract catches a breach planted in a copy of the source tree."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CYCLES = "No cycles between siblings, at any depth"
BREACHES = {
    "Rooms: front doors, cli, then three strangers, core": (
        "report/terminal.py",
        "import rackwise.adapters",
    ),
    "The front door of a client opens its plug-ins and nothing else": (
        "kafka_python.py",
        "import rackwise.report",
    ),
    "core is pure": ("core/text.py", "import os"),
    "Solvers have one door: core.solver": ("core/audit.py", "import ortools"),
    "Kafka and ZooKeeper clients have one door: adapters": ("cli/shell.py", "import kafka"),
    "pyspark has one door: pipeline": ("adapters/__init__.py", "import pyarrow"),
    "The checker is not the algorithm": ("core/audit.py", "import rackwise.core.fleet"),
    "Search and proof are strangers": (
        "core/planning/proof/applied.py",
        "import rackwise.core.planning.search.tie_breaking",
    ),
    "The proof needs no solver": ("core/planning/proof/applied.py", "import rackwise.core.solver"),
    "What measures assignments makes none": (
        "core/assignors/measure/evaluate.py",
        "import rackwise.core.assignors.kafka.sticky",
    ),
    "report fetches and computes nothing": ("report/terminal.py", "import socket"),
    CYCLES: ("core/text.py", "import rackwise.core.racks"),
}


def judged(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            Path(sys.executable).with_name("lint-imports"),
            "--no-cache",
            "--config",
            tree / "pyproject.toml",
        ],
        cwd=tree / "src",
        env={"PYTHONPATH": str(tree / "src"), "NO_COLOR": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tree(tmp_path):
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def verdicts(output: str) -> dict[str, str]:
    found = re.findall(r"^(.*) (KEPT|BROKEN)(?: \(1 ignored import\))?$", output, re.MULTILINE)
    return dict(found)


def test_every_contract_has_a_planted_breach(tree):
    assert verdicts(judged(tree).stdout) == dict.fromkeys(BREACHES, "KEPT")


@pytest.mark.parametrize("contract", BREACHES)
def test_a_planted_breach_is_caught_with_its_line(tree, contract):
    name, line = BREACHES[contract]
    file = tree / "src" / "rackwise" / name
    text = file.read_text()
    file.write_text(text + f"\n{line}\n")
    result = judged(tree)
    assert result.returncode != 0
    assert verdicts(result.stdout)[contract] == "BROKEN"
    where = f"(l.{text.count(chr(10)) + 2})"
    assert (where if contract != CYCLES else ".text -> .racks (1 import)") in result.stdout


def test_a_sixth_room_fails_the_build(tree):
    (tree / "src" / "rackwise" / "attic.py").write_text('"""A sixth room."""\n')
    assert "attic" in judged(tree).stdout
    assert judged(tree).returncode != 0
