"""The guide of nightly: its fleet file and its rehearsal run on a real cluster."""

import re
import shlex
import subprocess
from contextlib import closing

import pytest

from kafka_traffic import delete, replicas_by_each_broker, until
from nights import COMMAND, document
from rackwise.adapters.files import read_plan
from rackwise.adapters.kafka import connect
from rackwise.core.nightly.night import StepName
from rackwise.core.notices.changes import NoticeKind
from refusals import called
from shown_commands import ROOT, blocks_of, missing_lines, shown_commands

GUIDE = ROOT / "docs" / "guides" / "nightly.md"
TRY = "Try it on your machine"
TOPIC = "one-rack"


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


def unsafe(folder):
    """The unsafe partitions of the cluster in the metrics of a night."""
    text = (folder / "night" / "metrics" / "rackwise.prom").read_text()
    return int(
        re.search(r'^rackwise_partitions_unsafe\{cluster="box"\} (\d+)$', text, re.MULTILINE)[1]
    )


@pytest.mark.kafka
@pytest.mark.long
def test_a_cluster_that_the_guide_makes_unsafe_is_repaired_by_the_plan_of_the_night(
    kraft_cluster, tmp_path, monkeypatch
):
    """Other topics of the cluster have their own findings, so figures are compared."""
    monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    ((_, text),) = [
        each for each in blocks_of(GUIDE, "sh") if each[0] == TRY and "printf" in each[1]
    ]
    file = text.replace("127.0.0.1:19092", shlex.quote(kraft_cluster.bootstrap))
    subprocess.run(["sh", "-c", file], check=True)
    sandbox, create, audit, first, _, apply, second, _ = [
        each for each in shown_commands(GUIDE) if each.heading == TRY
    ]
    racks = sandbox.words[sandbox.words.index("--racks") + 1].split(",")
    assert [str(each.rack) for each in kraft_cluster.brokers] == [*racks, racks[0]]
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        try:
            code, out, err = called(*create.words)
            assert (code, out.splitlines()) == (0, create.lines), err
            until(
                lambda: replicas_by_each_broker(admin, TOPIC) == {(0, (0, 3)), (1, (3, 0))},
                "each broker to show the topic",
            )
            code, out, err = called(*audit.words)
            assert (code, missing_lines(audit, out)) == (2, []), err
            assert len(audit.lines) == 4
            assert called(*first.words)[0] == 2
            before = unsafe(tmp_path)
            pattern = apply.words.index("night/plans/box/*.json")
            (plan,) = tmp_path.glob(apply.words[pattern])
            code, _, err = called("apply", plan, *apply.words[pattern + 1 :])
            assert code == 0, err
            moved = {
                (each.partition, each.after)
                for each in read_plan(plan).moves
                if each.topic == TOPIC
            }
            assert {partition for partition, _ in moved} == {0, 1}
            until(
                lambda: replicas_by_each_broker(admin, TOPIC) == moved,
                "each broker to show the repair",
            )
            assert called(*second.words)[0] in {0, 2}
            assert unsafe(tmp_path) <= before - 2
        finally:
            delete(admin, TOPIC)


def test_the_guide_explains_every_step_and_every_notice():
    rows = re.findall(r"^\| `([a-z-]+)` \|", GUIDE.read_text(), re.MULTILINE)
    assert {*rows} == {*StepName.__args__, *NoticeKind.__args__}
