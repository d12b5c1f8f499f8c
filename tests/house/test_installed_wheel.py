"""The built wheel in new environments, with its real dependencies: what each one can do."""

import json
import shlex

import pytest

from house.test_wheel import GUIDE
from rackwise.adapters.files import publish, read_plan
from report.summaries import summary
from shown_commands import ROOT, blocks_of
from wheels import built, called, installed, pip

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

DEMO = ROOT / "examples" / "demo"
SNAPSHOT = DEMO / "snapshot.json.gz"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("wheel"))


def test_the_default_installation_runs_each_command_on_files(wheel, tmp_path):
    place = installed(tmp_path / "venv", wheel)
    plan = tmp_path / "plan.json"
    from_file = ("--snapshot", str(SNAPSHOT))

    def rackwise(*words):
        done = called(place, "rackwise", *words, cwd=tmp_path)
        assert done.returncode in {0, 2}, done.stderr
        return done.returncode, done.stdout

    assert rackwise("--version") == (0, "rackwise 0.1.0\n")
    assert rackwise("audit", *from_file)[0] == 2
    assert rackwise("plan", "repair", *from_file, "--out", str(plan))[0] == 2
    moved = read_plan(plan).moves[0]
    assert "proved: no fair and legal plan" in rackwise("proof", str(plan), *from_file)[1]
    partition = f"{moved.topic}-{moved.partition}"
    assert partition in rackwise("explain", str(plan), partition, *from_file)[1]
    assert rackwise("diff", str(DEMO / "earlier.json.gz"), str(SNAPSHOT))[0] in {0, 2}
    assert "use1-az1" in rackwise("what-if", *from_file, "--lose", "use1-az1")[1]
    refused = called(
        place,
        *("rackwise", "snapshot", "--bootstrap-server", "localhost:1", "--out", "x.json"),
        cwd=tmp_path,
    )
    assert refused.stderr.endswith('hint: pip install "rackwise[kafka]"\n')


def test_the_extra_report_renders_a_report_without_spark(wheel, tmp_path):
    document = summary(topics=70, clusters=2)
    text = json.dumps(document).encode()
    publish(
        tmp_path / "bill", run_id=document["run_id"], files={"summary.json": text}, tables="tables"
    )
    place = installed(tmp_path / "venv", wheel)
    words = ("rackwise", "report", "bill", "--metrics", "bill.prom")
    missing = called(place, *words, cwd=tmp_path)
    assert (missing.returncode, missing.stderr) == (
        1,
        (
            "error: jinja2 is required to render a report, but it is not installed\n"
            'hint: pip install "rackwise[report]"\n'
        ),
    )
    pip(place, f"rackwise[report] @ {wheel.as_uri()}")
    done = called(place, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "<html" in (tmp_path / "bill" / "report.html").read_text()
    assert "rackwise_cross_rack_usd_30d{" in (tmp_path / "bill.prom").read_text()
    assert called(place, "python", "-c", "import pyspark", cwd=tmp_path).returncode == 1


def test_the_small_installation_of_the_guide_serves_a_client_and_names_what_it_lacks(
    wheel, tmp_path
):
    (block,) = [text for _, text in blocks_of(GUIDE, "sh") if "--no-deps rackwise" in text]
    steps = [shlex.split(line)[2:] for line in block.splitlines()]
    steps = [[str(wheel) if each == "rackwise" else each for each in step] for step in steps]
    place = installed(tmp_path / "venv", *steps[0])
    pip(place, *steps[1])
    loads = "from rackwise.aiokafka import RackAwareProducer, RackRange; import rackwise.core"
    assert called(place, "python", "-c", loads, cwd=tmp_path).returncode == 0
    assert called(place, "python", "-c", "import pandas", cwd=tmp_path).returncode == 1
    audit = ("rackwise", "audit", "--snapshot", str(SNAPSHOT), "--quiet")
    assert called(place, *audit, cwd=tmp_path).stderr.endswith("hint: pip install rackwise\n")
    pip(place, "rackwise")
    assert called(place, *audit, cwd=tmp_path).returncode == 2
