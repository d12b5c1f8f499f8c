"""A file that cannot grow, as under a quota or on a full disk: no command leaves half of it."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from refusals import called
from writing_commands import (
    BILL,
    ON_SERVERS,
    RESULT,
    WRITTEN,
    content,
    prepare,
    size_limit,
    writing_options,
)

TOO_LARGE = os.strerror(errno.EFBIG)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The working folder, with the inputs of all commands but a result."""
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A published result of `analyze`."""
    out = tmp_path_factory.mktemp("published") / RESULT
    code, _, err = called(*BILL, "--out", out)
    assert code == 0, err
    return out


@pytest.fixture
def result(place, published):
    """A copy of it in the working folder."""
    return shutil.copytree(published, place / RESULT, symlinks=True)


def test_the_table_has_every_option_that_writes():
    assert {*writing_options()} == {*WRITTEN, *ON_SERVERS}


def check_limit(case, place, size):
    """Law: at any limit the command is whole, or ends in one line and leaves what was there."""
    before = content(place)
    with size_limit(size):
        code, out, err = called(*case.words, case.option, case.target)
    if code == case.code:
        return True
    error, hint = err.splitlines()[-2:]
    assert (code, out) == (1, ""), f"law of limits: {err}"
    assert error.startswith("error: ")
    assert case.target in error, "law of limits: what could not be written is named"
    assert error.endswith(TOO_LARGE) or f"{TOO_LARGE};" in error, error
    assert hint.startswith("hint: ")
    assert "Traceback" not in err
    assert content(place) == before, "law of limits: nothing is left, nothing was changed"
    return False


@pytest.mark.parametrize("name", [each for each in WRITTEN if each.split()[0] != "report"])
def test_at_any_limit_of_its_size_an_output_is_whole_or_as_before(name, place):
    case = WRITTEN[name]
    check_limits(case, place)


@pytest.mark.parametrize("name", [each for each in WRITTEN if each.split()[0] == "report"])
@pytest.mark.usefixtures("result")
def test_at_any_limit_a_rendered_result_is_whole_or_as_before(name, place):
    check_limits(WRITTEN[name], place)


def check_limits(case, place):
    target = place / case.target
    code, _, err = called(*case.words, case.option, target)
    assert code == case.code, err
    if target.is_dir():
        sizes = sorted({path.stat().st_size for path in target.rglob("*") if path.is_file()})
        limits = {0, *map(below, (sizes[0], sizes[len(sizes) // 2], sizes[-1]))}
        target.rename(place / "whole")
    else:
        size = target.stat().st_size
        limits = {0, 1, size // 2, below(size)}
    for limit in sorted(limits):
        assert not check_limit(case, place, limit)


def below(size):
    """Nine tenths of a size: the time in a compressed file changes its size by some bytes."""
    return size * 9 // 10
