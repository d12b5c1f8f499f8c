"""A stream that cannot begin or go on ends in one line; no traceback reaches the terminal."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import limited_disk
from small_disk import fill, small_disk
from stream_runs import ended, jars_fit, reading, started

pytestmark = [pytest.mark.spark, pytest.mark.java]
NOBODY = "127.0.0.1:1"
PAGES = 2
LIMITED = Path(limited_disk.__file__)
JAVA = "WARNING: Using incubator modules"
"""Java's own line; no option hides it."""


def check_one_line(command, *said, launcher=("-m", "rackwise.cli")):
    """Law: exit code 1, nothing on stdout, one line of error and one of hint; the two lines."""
    code, out, err = ended(started(*launcher, *command))
    assert (code, out) == (1, ""), err
    lines = [line for line in err.splitlines() if not line.startswith(JAVA)]
    assert len(lines) == 2, err
    error, hint = lines
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    for each in said:
        assert each in err, err
    return error, hint


@pytest.mark.parametrize("connector", ["jvm", pytest.param("python", marks=pytest.mark.long)])
def test_a_broker_that_is_down_is_named_without_a_traceback(tmp_path, connector):
    has_jars = connector == "jvm" and jars_fit()  # else the command looks for its own
    command = reading(NOBODY, "t", tmp_path, "--connector", connector, jars=has_jars)
    if connector == "jvm":
        command += ["--kafka-option", "kafka.default.api.timeout.ms=2000"]
        command += ["--kafka-option", "kafka.request.timeout.ms=1000"]
    told = ("Spark ended the stream", "a broker answers at --bootstrap-server")
    check_one_line(command, *(told if connector == "python" or jars_fit() else ()))
    assert [*tmp_path.rglob("*.parquet")] == []


def test_a_missing_java_is_one_line(tmp_path):
    command = reading(NOBODY, "t", tmp_path)
    folder = tmp_path / "empty"
    folder.mkdir()
    environment = {"JAVA_HOME": str(folder), "PATH": str(folder)}
    code, out, err = ended(started("-m", "rackwise.cli", *command, **environment))
    assert (code, out) == (1, "")
    assert "Traceback" not in err
    assert err.splitlines()[-2].startswith("error: ")


def test_a_full_disk_of_the_checkpoint_is_named_and_has_no_half_of_a_mark(tmp_path):
    folder = tmp_path / "mark"
    command = reading(NOBODY, "t", tmp_path)
    with small_disk(folder, PAGES):
        ballast = fill(folder, PAGES, free=0).rename(folder / ".x.unfinished")
        told = (f"error: {folder}/", os.strerror(errno.ENOSPC))
        check_one_line(command, *told, launcher=(LIMITED, folder, PAGES))
        assert [*folder.iterdir()] == [ballast]
