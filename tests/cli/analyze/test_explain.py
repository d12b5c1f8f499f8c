"""`rackwise analyze --explain-plan`: what a run would do, without Java and without a result."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rackwise.adapters.files import write_snapshot
from rackwise.cli.main import run
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from small_fleets import cluster

FLOWS = (
    "version account-id interface-id srcaddr dstaddr bytes start end flow-direction\n"
    + "5 123456789010 eni-1 10.0.0.1 10.1.0.1 840 1795000000 1795000060 egress\n" * 99
)


@pytest.fixture
def explained(tmp_path):
    """Runs the command in a process that has no Java; returns its exit code, stdout and stderr."""
    write_snapshot(cluster(), tmp_path / "demo.json")
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "a.log").write_text(FLOWS)
    (tmp_path / "bin").mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    environment["PATH"] = str(tmp_path / "bin")

    def call(*options):
        command = ["analyze", tmp_path / "demo.json", "--out", tmp_path / "out"]
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", *map(str, command), *options],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
            cwd=tmp_path,
        )
        assert not (tmp_path / "out").exists()
        return done.returncode, done.stdout, done.stderr

    return call


def test_people_get_a_line_for_each_part(explained):
    code, out, err = explained("--flows", "flows", "--explain-plan", "--master", "local[4]")
    assert (code, err) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines()[:7])
    assert lines["fleet"].startswith("1 snapshot of 1 cluster, 3 brokers, ")
    assert lines["flows"] == f"1 text file, {len(FLOWS):,} bytes; vpc"
    assert lines["read"] == "by  1 task with pyarrow, 1 split"
    assert lines["engine"].endswith(" on local[4], 4 cores")
    assert lines["rows"] == "100 (estimate: rows per byte of 1 of 1 files)"
    assert lines["CPU"].endswith(
        "(estimate: constants measured on two shared cores, see benchmarks)"
    )
    assert " to " in lines["wall"]


def test_the_document_is_equal_for_equal_input(explained):
    told = [explained("--json", "--flows", "flows", "--explain-plan") for _ in range(2)]
    assert told[0] == told[1]
    code, out, err = told[0]
    assert (code, err) == (0, "")
    found = parse(out.encode(), where="stdout", error=InvalidConfig)
    assert found["format"] == "rackwise.analyze-plan/1"
    assert found["flows"]["kinds"] == [{"kind": "text", "files": 1, "bytes": len(FLOWS)}]
    assert found["flows"]["rows"]["quality"] == "estimate"


def test_a_run_without_flows_has_no_zero(explained):
    code, out, _ = explained("--explain-plan")
    assert code == 0
    assert "flows    none\nread by  nobody\n" in out
    assert out.count("not known: the run reads no flow files") == 3


@pytest.mark.spark
def test_a_path_that_does_not_exist_is_an_error(spark, tmp_path, capsys):
    """Spark reports it, so that the error is that of a run."""
    assert spark.version
    write_snapshot(cluster(), tmp_path / "demo.json")
    words = ["analyze", tmp_path / "demo.json", "--out", tmp_path / "out", "--explain-plan"]
    assert run([*map(str, words), "--flows", str(tmp_path / "nowhere")]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    error, hint = told.err.splitlines()
    assert error.startswith("error: expected flow files at ")
    assert hint.startswith("hint: check the paths of --flows")
    assert not (tmp_path / "out").exists()
