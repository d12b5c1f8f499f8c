"""A generated fleet from `generate` through `analyze`: its truth, its plans, a cluster without one.

The cluster without a plan is planted beside the others: one broker that holds a replica too few of
everything. What the others have is told, published and proved as if it were not there.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from rackwise.adapters.files import parse_plan, read_published, write_snapshot
from rackwise.cli.main import run
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.pipeline.runtime.session import LARGEST_DRIVER_BYTES
from small_fleets import cluster
from truths import check_told

pytestmark = pytest.mark.spark
PLANTED = "planted"
OUTSIDE_THE_HEAP = 2**30
"""What a Java with a full heap takes beyond it: code, stacks, buffers of Arrow."""
SMALL = {"clusters": 12, "brokers": 6, "topics": 5, "flows": 6_000}
LARGE = {"clusters": 200, "brokers": 24, "topics": 62, "flows": 2_000_000}
"""1,024,023 partitions."""


def document(text):
    return parse(text.encode(), where="stdout", error=InvalidConfig)


def called(arguments):
    """Exit code, stdout and stderr of a command in this process."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()


def written_fleet(folder, sizes):
    """The fleet with the planted cluster; gives the command that reads it, and what was told."""
    options = [word for name, count in sizes.items() for word in (f"--{name}", str(count))]
    made = called(["--json", "generate", "--out", str(folder), "--shape", "messy", *options])
    assert made[0] == 0, made[2]
    lonely = cluster({1: "/eu/a"}, {"t": [(1, 9)]}, cluster_id=PLANTED)
    write_snapshot(lonely, folder / "snapshots" / "planted.json")
    told = document(made[1])
    assert told["clusters"] == sizes["clusters"]
    return ["--json", *told["analyze"][1:]], told


def check_fleet(folder, code, text, err):
    """Law: all but the planted cluster is as if that were not there, and the run says it is."""
    error, summary = document(err.splitlines()[-1]), document(text)
    assert (code, error["error"]) == (1, "PlanFailures")
    assert f"no plan for {PLANTED}: t-0: expected 2 " in error["message"]
    published = read_published(folder / "result")
    assert published.summary == summary
    truth = (folder / "truth.json").read_bytes()
    told = parse(truth, where="truth.json", error=InvalidConfig)
    check_told(told, summary, folder / "result" / published.tables / "gold")
    rows = {row["cluster"]: row for row in summary["plans"]["rows"]}
    assert rows.pop(PLANTED)["status"] == "infeasible"
    assert sorted(rows) == sorted(one["cluster"] for one in told["clusters"])
    for name, row in rows.items():
        plan = parse_plan((folder / "result" / row["file"]).read_bytes(), where=row["file"])
        assert row["moves"] == plan.totals.moves > 0, name
        assert (row["verdict"] == "proved") == plan.verdict.is_proved, name
    assert len(list((folder / "result" / "plans").iterdir())) == len(rows)
    return summary


@pytest.mark.long
def test_a_fleet_is_billed_planned_and_proved_beside_a_cluster_without_a_plan(spark, tmp_path):
    assert spark.version
    command, _ = written_fleet(tmp_path / "fleet", SMALL)
    summary = check_fleet(tmp_path / "fleet", *called(command))
    assert summary["plans"]["proved"] == summary["plans"]["planned"] == SMALL["clusters"]


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_million_partitions_of_two_hundred_clusters(tmp_path, capsys):
    command, told = written_fleet(tmp_path / "fleet", LARGE)
    assert told["partitions"] >= 1_000_000
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "rackwise.cli", *command, "--master", "local[2]"],
        capture_output=True,
        text=True,
        check=False,
    )
    taken = time.monotonic() - started
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    summary = check_fleet(tmp_path / "fleet", done.returncode, done.stdout, done.stderr)
    assert summary["plans"]["proved"] == summary["plans"]["planned"] == LARGE["clusters"]
    assert largest <= LARGEST_DRIVER_BYTES + OUTSIDE_THE_HEAP
    result = tmp_path / "fleet" / "result"
    sizes = {name: (result / name).stat().st_size for name in ("summary.json", "report.html")}
    with capsys.disabled():
        print(f"\n{taken:.0f} s, largest process {largest / 2**20:.0f} MiB, {sizes}", *_steps(done))


def _steps(done):
    return (line for line in done.stderr.splitlines() if line[:1].isdigit())
