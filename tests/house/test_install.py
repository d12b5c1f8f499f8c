"""The install commands of README work: from a clone, into an empty virtual environment."""

from __future__ import annotations

import os
import subprocess

import pytest

from shown_commands import README, ROOT, blocks_of


@pytest.mark.timeout(600)
def test_the_commands_that_install_give_a_command_that_audits(tmp_path):
    (block,) = [text for _, text in blocks_of(README, "sh") if "pip install" in text]
    subprocess.run(["git", "clone", "--quiet", ROOT, tmp_path / "rackwise"], check=True)
    environment = {name: each for name, each in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(["sh", "-euc", block], cwd=tmp_path, env=environment, check=True)
    done = subprocess.run(
        [
            tmp_path / "rackwise-venv" / "bin" / "rackwise",
            *("audit", "--snapshot", ROOT / "examples" / "demo" / "snapshot.json.gz", "--quiet"),
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "spread-even" in done.stdout
