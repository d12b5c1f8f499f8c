"""The guide of nightly: its fleet file and its rehearsal run on a real cluster."""

import re
import subprocess

import pytest

from nights import COMMAND, document
from rackwise.core.nightly.night import StepName
from rackwise.core.notices.changes import NoticeKind
from shown_commands import ROOT, blocks_of, shown_commands

GUIDE = ROOT / "docs" / "guides" / "nightly.md"


@pytest.mark.kafka
def test_the_fleet_file_and_the_rehearsal_of_the_guide_run(kraft_cluster, tmp_path):
    ((_, text),) = blocks_of(GUIDE, "toml")
    text, _, _ = text.partition("[clusters.prod-us]")
    text = re.sub(r'bootstrap = ".*"', f'bootstrap = "{kraft_cluster.bootstrap}"', text)
    (tmp_path / "rackwise.toml").write_text(text)
    nights = [each.words for each in shown_commands(GUIDE) if "--at" in each.words]
    assert len(nights) == 2
    for words in nights:
        told = [word.replace("/etc/rackwise/", "") for word in words]
        done = subprocess.run([*COMMAND, *told], cwd=tmp_path, check=False, capture_output=True)
        assert done.returncode in {0, 2}, done.stderr
    state = document(tmp_path / "rehearsal" / "nightly.json")
    assert state["night"]["day"] == "2026-11-27"
    assert {run["step"] for run in state["night"]["runs"]} == {*StepName.__args__}


def test_the_guide_explains_every_step_and_every_notice():
    rows = re.findall(r"^\| `([a-z-]+)` \|", GUIDE.read_text(), re.MULTILINE)
    assert {*rows} == {*StepName.__args__, *NoticeKind.__args__}
