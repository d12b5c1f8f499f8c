"""Executors, Python workers and Spark's Java that are killed while `analyze` reads flows."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pytest

from held_daemon import conf_of, held_tasks
from rackwise.adapters.sandbox.ready import wait_until_true
from rackwise.core.fleet import FleetOptions, FlowFormat
from spark_clusters import SparkCluster
from stream_runs import PATIENCE_S, ended, started
from truths import write_fleet

pytestmark = [
    *(pytest.mark.spark, pytest.mark.classic, pytest.mark.fault, pytest.mark.long),
    pytest.mark.timeout(1500),
]

FLEET = FleetOptions(
    seed=29, brokers=6, topics=20, flows=3_000, bad_rows=0.01, flow_format=FlowFormat.VPC
)
FLOWS = "rackwise.pipeline.ingest.splits:SplitReader._rows"
"""The function that reads the rows of a part of a flow file."""
ALL = 40
"""More attempts than a cluster makes at the tasks that read flows: four at each task."""
LOCAL = "local[2]"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A generated fleet with flow logs."""
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(FLEET, folder)
    return folder


@pytest.fixture(scope="module")
def workers(java_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    with SparkCluster(("az1", "az2"), java_home=java_home, folder=folder) as cluster:
        yield cluster


def words(home, out, master, conf):
    flows = ["--flows", home / "flows", "--subnets", home / "subnets.csv"]
    more = ["--levels", "region,zone", "--max-quarantine", "0.5", "--master", master]
    given = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    return ["analyze", home / "cluster-0-0.json.gz", "--out", out, *flows, *more, *given]


def begun(*command):
    return started("-m", "rackwise.cli", *command)


def told(run):
    """The exit code and the lines of stderr."""
    code, out, err = ended(run)
    assert code == 0 or out == ""
    return code, err.splitlines()


def analyzed(home, out):
    """The result of a run that nobody disturbs."""
    code, err = told(begun(*words(home, out, LOCAL, {})))
    assert code == 0, err
    return results(out)


def results(out):
    """Path -> content of the published files but the manifest, which has the time."""
    current = (out / "current").resolve()
    paths = [path for path in current.rglob("*") if path.is_file()]
    assert current / "summary.json" in paths
    return {
        str(path.relative_to(current)): path.read_bytes()
        for path in paths
        if path.name != "manifest.json"
    }


@pytest.fixture(scope="module")
def whole(home):
    return analyzed(home, home / "whole")


def killed(home, folder, kind, count, workers=None):
    """Exit code and lines of a run of which the first `count` tasks are killed, each with a kind.

    `kind`: `executor` or `worker`. Without `workers`, a cluster, the executor is the driver.
    """
    held = folder / "held"
    held.mkdir()
    of_cluster = workers.conf if workers else {}
    conf = {key: value for key, value in of_cluster.items() if key != "spark.jars"}
    conf |= conf_of(held, count, FLOWS)
    run = begun(*words(home, folder / "out", workers.master if workers else LOCAL, conf))
    done = []

    def is_next():
        return held_tasks(held) != done or run.poll() is not None

    while len(done) < count and run.poll() is None:
        assert wait_until_true(is_next, PATIENCE_S), "no task waits, and the run goes on"
        for task in held_tasks(held)[len(done) :]:
            with suppress(ProcessLookupError):  # Spark has stopped it
                os.kill(getattr(task, kind), signal.SIGKILL)
            done.append(task)
    assert done, "law of kills: something was killed"
    return told(run)


def check_one_line(code, err, message):
    """Law: exit code 1, one line of error and one of hint, and no page of Java or of Python."""
    assert code == 1, err
    *_, error, hint = err
    assert error.startswith(f"error: {message}"), err
    assert hint.startswith("hint: run the command again"), err
    assert [line for line in err if line.startswith("error: ")] == [error]
    assert not [line for line in err if line.startswith(("Traceback", "\tat ", "  File "))], err


def check_only_published(out):
    """Law: one run has tables, and none of them is temporary."""
    (run,) = (out / "tables" / "runs").iterdir()
    left = [path for path in run.rglob("_*") if path.name != "_SUCCESS"]
    assert left == [], "law broken: intermediate files are left"


@pytest.mark.parametrize("kind", ["executor", "worker"])
def test_a_cluster_runs_a_killed_task_again_and_the_result_is_the_same(
    home, whole, workers, tmp_path, kind
):
    code, err = killed(home, tmp_path, kind, 1, workers)
    assert code == 0, err
    assert results(tmp_path / "out") == whole
    check_only_published(tmp_path / "out")


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("executor", "Spark gave up a "),
        ("worker", "Spark gave up a task after 4 attempts: its Python worker ended"),
    ],
)
def test_a_task_that_is_killed_at_each_attempt_ends_the_run_in_one_line(
    home, whole, workers, tmp_path, kind, cause
):
    code, err = killed(home, tmp_path, kind, ALL, workers)
    check_one_line(code, err, cause)
    check_nothing_published_and_begin_again(home, tmp_path / "out", whole)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("executor", "Spark's Java ended in the middle of the run"),
        ("worker", "Spark gave up a task after 1 attempt: its Python worker ended"),
    ],
)
def test_on_this_machine_a_kill_ends_the_run_in_one_line(home, whole, tmp_path, kind, message):
    code, err = killed(home, tmp_path, kind, 1)
    check_one_line(code, err, message)
    check_nothing_published_and_begin_again(home, tmp_path / "out", whole)


def check_nothing_published_and_begin_again(home, out, whole):
    """Law: a run that failed publishes nothing; the next one is as if nothing was."""
    assert [path for path in out.rglob("*") if path.is_file()] == []
    assert not (out / "current").exists()
    assert analyzed(home, out) == whole
    check_only_published(out)
