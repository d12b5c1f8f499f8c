"""A disk that is full: each command names the file or folder, exits with 1 and leaves nothing."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from rackwise.pipeline.engines.local import LocalEngine
from refusals import called
from small_disk import BALLAST, PAGE, small_disk

DEMO = Path(__file__).parents[2] / "examples" / "demo"
SNAPSHOT = DEMO / "snapshot.json.gz"
FULL = os.strerror(errno.ENOSPC)
DISK_HINT = "hint: look at the disk; what was there before is still there"
BILL = ("analyze", SNAPSHOT, "--flows", DEMO / "flows", "--engine", "local", "--out")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """A published result of `analyze`."""
    out = tmp_path_factory.mktemp("bill") / "out"
    code, _, err = called(*BILL, out)
    assert code == 0, err
    return out


@pytest.fixture
def full(tmp_path):
    folder = tmp_path / "full"
    with small_disk(folder, 1):
        (folder / BALLAST).write_bytes(bytes(PAGE))
        yield folder


@pytest.mark.parametrize(
    ("command", "option", "file"),
    [
        (("plan", "balance", "--snapshot", SNAPSHOT), "--out", "plan.json"),
        (("plan", "balance", "--snapshot", SNAPSHOT), "--kafka-json", "plan.json"),
        (("audit", "--snapshot", SNAPSHOT), "--metrics", "audit.prom"),
        (("report",), "--out", "report.html"),
        (("report",), "--metrics", "report.prom"),
    ],
)
def test_a_file_on_a_full_disk_is_named(command, option, file, full, result):
    words = [*command, *([result] if command == ("report",) else [])]
    code, out, err = called(*words, option, full / file)
    assert (code, out) == (1, "")
    assert err.splitlines()[-2:] == [
        f"error: {full / file} cannot be written: {FULL}",
        DISK_HINT,
    ]
    assert [each.name for each in full.iterdir()] == [BALLAST]


def fail_to_write(table):
    """Arrow's own error; by a descriptor, because Arrow removes a path that it cannot write."""
    with pa.OSFile("/dev/full", "wb") as device:
        parquet.write_table(table, device)


@pytest.mark.parametrize("flags", [[], ["--json"]])
@pytest.mark.parametrize("command", ["audit", "report"])
def test_standard_output_to_a_full_disk_is_named(command, flags, result):
    words = [result] if command == "report" else ["--snapshot", SNAPSHOT]
    with open("/dev/full", "w") as device:  # noqa: PTH123 (a device)
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", command, *map(str, [*words, *flags])],
            stdout=device,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert f"stdout: {FULL}" in done.stderr.splitlines()[-1 if flags else -2]


def test_the_tables_of_a_run_are_named_and_removed(tmp_path, monkeypatch):
    """Arrow's error has no file: Rackwise named stdout for it."""
    monkeypatch.setattr(LocalEngine, "save", lambda _self, table, *_: fail_to_write(table))
    out, tables = tmp_path / "out", tmp_path / "tables"
    code, text, err = called(*BILL, out, "--tables", tables)
    assert (code, text) == (1, "")
    error, hint = err.splitlines()[-2:]
    assert error.startswith(f"error: the tables in {tables}/runs/")
    assert f" cannot be written: {FULL}; free on this machine: " in error
    assert f" bytes in {tables}/runs/" in error
    assert "TMPDIR" in hint
    assert list((tables / "runs").iterdir()) == []
