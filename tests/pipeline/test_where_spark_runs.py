"""One input has one result: in this process, behind Spark Connect, on a standalone cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.core.errors import InvalidConfig
from rackwise.core.fleet import FleetOptions, FlowFormat
from rackwise.core.json.strict import parse
from spark_clusters import SPARK_HOME, SparkCluster
from truths import write_fleet

pytestmark = [
    *(pytest.mark.spark, pytest.mark.classic, pytest.mark.long),
    pytest.mark.timeout(2000),
]

FLEET = FleetOptions(
    seed=104, brokers=6, topics=20, flows=5_000, bad_rows=0.01, flow_format=FlowFormat.VPC_TEXT
)
LEVELS = ("--levels", "region,zone")
HERE = "/proc/self/cwd"
"""A different folder in each process, like the local disks of two machines."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A generated fleet with flow logs."""
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(FLEET, folder)
    return folder


def ran(*command, cwd=None):
    """Exit code, stdout and stderr of a command in a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "rackwise.cli", *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
    )
    return done.returncode, done.stdout, done.stderr


def words(home, out):
    """The arguments of `rackwise analyze` for the fleet."""
    flows = ["--flows", home / "flows", "--subnets", home / "subnets.csv"]
    return [
        "analyze",
        home / "cluster-0-0.json.gz",
        "--out",
        out,
        *flows,
        *LEVELS,
        "--max-quarantine",
        "0.5",
    ]


def analyzed(home, out, *options):
    code, _, err = ran(*words(home, out), *options)
    assert code == 0, err
    return out


@pytest.fixture(scope="module")
def classic(home):
    return analyzed(home, home / "classic", "--master", "local[2]")


@pytest.fixture(scope="module")
def workers(java_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    with SparkCluster(("az1", "az2"), java_home=java_home, folder=folder) as cluster:
        yield cluster


def on_cluster(workers):
    conf = {key: value for key, value in workers.conf.items() if key != "spark.jars"}
    return [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]


def check_same_result(found, wanted):
    """Law: files are equal byte by byte and tables row by row, wherever Spark runs."""
    files = {path.relative_to(wanted) for path in wanted.rglob("*") if is_compared(path, wanted)}
    assert Path("summary.json") in files
    assert {
        path.relative_to(found) for path in found.rglob("*") if is_compared(path, found)
    } == files
    for name in files:
        assert (found / name).read_bytes() == (wanted / name).read_bytes(), f"law broken: {name}"
    names = tables(wanted)
    assert tables(found).keys() == names.keys()
    wanted_tables = {"gold/cross_rack", "gold/plan_summary", "silver/flow_sum", "silver/broker"}
    assert wanted_tables <= names.keys()
    for name, path in names.items():
        assert rows(tables(found)[name]) == rows(path), f"law broken: {name}"


def is_compared(path, out):
    return path.is_file() and path.relative_to(out).parts[0] not in {"tables", "manifest.json"}


def tables(out):
    (run,) = (out / "tables" / "runs").iterdir()
    return {str(path.relative_to(run)): path for path in run.glob("*/*")}


def rows(path):
    return sorted(map(repr, pyarrow.parquet.read_table(path).to_pylist()))


class TestConnect:
    def test_a_running_server(self, classic, connect_server, home):
        found = analyzed(home, home / "connect", "--remote", connect_server.remote)
        check_same_result(found, classic)

    def test_a_server_that_the_command_starts(self, classic, home):
        found = analyzed(home, home / "started", "--remote", "local[2]")
        check_same_result(found, classic)

    def test_the_check_of_executors(self, connect_server):
        asked = ["spark-check", "--json", "--variable", "PATH", "--remote", connect_server.remote]
        code, out, err = ran(*asked)
        assert (code, err) == (0, "")
        report = parse(out.encode(), where="stdout", error=InvalidConfig)
        assert [each["answers"] for each in report["executors"]] == [report["asked"]]

    def test_a_folder_that_the_server_does_not_see(self, connect_server, home, tmp_path):
        asked = [*words(home, tmp_path / "out"), "--tables", f"{HERE}/tables"]
        code, out, err = ran(*asked, "--remote", connect_server.remote, cwd=tmp_path)
        check_not_shared(code, out, err, tmp_path)

    def test_conf_that_a_running_server_cannot_change(self, connect_server, home, tmp_path):
        asked = [*words(home, tmp_path / "out"), "--conf", "spark.executor.memory=3g"]
        code, out, err = ran(*asked, "--remote", connect_server.remote)
        assert (code, out) == (4, "")
        error, hint = err.splitlines()
        assert error.startswith(
            "error: expected a Spark session with spark.executor.memory=3g, got the "
        )
        assert hint.endswith("omit spark.executor.memory, or start the server with it")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("command", ["analyze", "spark-check"])
    def test_no_server(self, home, tmp_path, command):
        asked = words(home, tmp_path / "out") if command == "analyze" else [command]
        code, out, err = ran(*asked, "--remote", f"sc://{HOST}:{free_ports(1)[0]}")
        assert (code, out) == (1, "")
        assert "error: no Spark Connect server answers at 127.0.0.1:" in err
        assert "Traceback" not in err
        assert not (tmp_path / "out").exists()


class TestCluster:
    def test_two_workers(self, classic, workers, home):
        options = ["--master", workers.master, *on_cluster(workers)]
        found = analyzed(home, home / "cluster", *options)
        check_same_result(found, classic)

    def test_started_by_spark_submit(self, classic, workers, home, tmp_path):
        """The line of the guide: the driver is up before Rackwise is, and keeps its master."""
        script = tmp_path / "rackwise_cli.py"
        script.write_text("from rackwise.cli import main\n\nraise SystemExit(main())\n")
        submit = [SPARK_HOME / "bin" / "spark-submit", "--master", workers.master]
        command = [*submit, *on_cluster(workers), script, *words(home, home / "submitted")]
        done = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOST},
        )
        assert done.returncode == 0, done.stderr
        check_same_result(home / "submitted", classic)
        for number in range(2):
            apps = list((workers.folder / f"work-{number}").glob("app-*"))
            assert apps, f"worker {number} had nothing to do"

    def test_a_folder_that_the_workers_do_not_see(self, workers, home, tmp_path):
        asked = [*words(home, tmp_path / "out"), "--tables", f"{HERE}/tables"]
        asked += ["--master", workers.master, *on_cluster(workers)]
        check_not_shared(*ran(*asked, cwd=tmp_path), tmp_path)


def check_not_shared(code, out, err, folder):
    assert (code, out) == (4, "")
    assert f"error: expected a folder for tables that Spark can read, got {HERE}" in err
    assert "hint: set --tables to a URI" in err
    assert not (folder / "out").exists()
    assert not (folder / "tables").exists()
