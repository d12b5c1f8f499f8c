"""A disk that is full: each command names the file or folder, exits with 1 and leaves nothing."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from rackwise.pipeline.engines.local import LocalEngine
from refusals import called
from small_disk import BALLAST, fail_to_write, fill, small_disk
from writing_commands import BILL as ANALYZE
from writing_commands import RESULT, SNAPSHOT, WRITTEN, content, prepare

FULL = os.strerror(errno.ENOSPC)
DISK_HINT = "hint: look at the disk; what was there before is still there"
BILL = (*ANALYZE, "--out")
PAGES = 2500
"""Pages of the disk, some 10 MB: each output fits."""
FOLDERS = ("analyze --out", "generate --out")


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
    with small_disk(folder, PAGES):
        fill(folder, PAGES, free=0)
        yield folder


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """The working folder, with the inputs of all commands but a result."""
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("name", [name for name in WRITTEN if name not in FOLDERS])
def test_a_file_on_a_full_disk_is_named_and_written_where_there_is_room_again(name, full, result):
    case = WRITTEN[name]
    words = [result if word == RESULT else word for word in case.words]
    file = full / case.target
    code, out, err = called(*words, case.option, file)
    assert (code, out) == (1, "")
    assert err.splitlines()[-2:] == [f"error: {file} cannot be written: {FULL}", DISK_HINT]
    assert [each.name for each in full.iterdir()] == [BALLAST]
    (full / BALLAST).unlink()
    code, _, err = called(*words, case.option, file)
    assert code == case.code, err
    assert [each.name for each in full.iterdir()] == [case.target]


FILES = 10
"""Pages that `analyze` and `generate` find free: less than their files need."""


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_on_a_full_disk_is_named_and_written_where_there_is_room_again(name, full):
    case = WRITTEN[name]
    fill(full, PAGES, free=FILES)
    folder = full / case.target
    code, out, err = called(*case.words, case.option, folder)
    assert (code, out) == (1, "")
    error, hint = err.splitlines()[-2:]
    assert error.startswith("error: ")
    assert str(folder) in error
    assert FULL in error
    assert hint.startswith("hint: ")
    assert [*content(full)] == [BALLAST]
    (full / BALLAST).unlink()
    code, _, err = called(*case.words, case.option, folder)
    assert code == case.code, err


def test_a_result_whose_disk_is_full_stays_as_it_is_and_is_rendered_later(full):
    """`report` and a second `analyze` publish into the folder of the result."""
    out = full / "out"
    fill(full, PAGES, free=PAGES)
    assert called(*BILL, out)[0] == 0
    before = content(out)
    ballast = fill(full, PAGES, free=FILES)
    for words in (("report", out), (*BILL, out)):
        code, text, err = called(*words)
        assert (code, text) == (1, "")
        error, hint = err.splitlines()[-2:]
        assert str(out) in error
        assert FULL in error
        assert hint.startswith("hint: ")
        assert content(out) == before
    ballast.unlink()
    code, _, err = called("report", out)
    assert code == 0, err


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
    monkeypatch.setattr(LocalEngine, "save", fail_to_write)
    out, tables = tmp_path / "out", tmp_path / "tables"
    code, text, err = called(*BILL, out, "--tables", tables)
    assert (code, text) == (1, "")
    error, hint = err.splitlines()[-2:]
    assert error.startswith(f"error: the tables in {tables}/runs/")
    assert f" cannot be written: {FULL}; free on this machine: " in error
    assert f" bytes in {tables}/runs/" in error
    assert "TMPDIR" in hint
    assert list((tables / "runs").iterdir()) == []
