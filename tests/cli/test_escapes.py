"""Hostile names in every input of every command: no output holds a character to be obeyed.

`escaped_commands` has the commands and their inputs, all of them files and options.
"""

from __future__ import annotations

import errno
import os
import shutil
from functools import cache

import pytest

from command_lines import LEAVES
from escaped_commands import (
    BILL,
    COMMAND_LINES,
    NEW,
    SHOWN,
    UNTRIED,
    WITHOUT_INPUT,
    WITHOUT_NAMES,
    in_folder,
    make_results,
    options_of,
    replaced_option,
    write_inputs,
)
from hostile_text import HOSTILE, LONG, NOT_TEXT, SIGNS, check_error, check_shown
from refusals import called, check_refused


def test_the_table_has_every_command():
    assert {*COMMAND_LINES} | {*WITHOUT_INPUT} == {*LEAVES}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Harmless inputs."""
    folder = tmp_path_factory.mktemp("plain") / "in"
    write_inputs(folder)
    make_results(folder)
    return folder


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Names that are hostile wherever a reader accepts it, in files of a folder of such a name."""
    folder = tmp_path_factory.mktemp("hostile") / HOSTILE
    places = write_inputs(folder, HOSTILE, racks=False)
    assert {"$.groups[].group", "$.groups[].members[].client_id"} < {*places}
    make_results(folder)
    return folder


@pytest.fixture(scope="module")
def ran(hostile):
    """All that the command lines of a command print on hostile files; they run once."""
    return cache(lambda name: run_all(name, hostile, ""))


@pytest.fixture(scope="module")
def hostile_racks(tmp_path_factory):
    """The same with racks; most commands find no rack then. The name of the folder is no UTF-8."""
    folder = tmp_path_factory.mktemp("racks") / f"{SIGNS}{NOT_TEXT}"
    assert "$.brokers[].rack" in write_inputs(folder, HOSTILE)
    return folder


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The working folder, which ends with the test; hostile paths are files and folders in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))
    password = tmp_path / "password"
    password.write_text("secret\n")
    with password.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield


def check(words):
    """Law: neither stream has a character to be obeyed, and an error is none of ours."""
    code, out, err = called(*words)
    check_shown(out, words)
    check_error(code, err, words)
    return out + err


def run_all(name, folder, rack):
    """Each command line of a command, for people and as a document; all that they print."""
    told = ""
    for case in COMMAND_LINES[name]:
        for flags in [()] if "--format" in case else [(), ("--json",)]:
            for each in NEW:
                shutil.rmtree(folder / each, ignore_errors=True)
            words = in_folder(case, folder, HOSTILE, rack)
            told += check([*name.split(), *flags, *words])
    return told


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_names_in_files_reach_no_terminal_and_no_document(name, ran, hostile_racks):
    told = ran(name) + run_all(name, hostile_racks, HOSTILE)
    is_told = any(f"{escape}202e" in told for escape in ("\\u", "&#8238;"))
    assert is_told or name in WITHOUT_NAMES, "no name is shown: the law says nothing"


def test_names_in_files_reach_no_page_metric_or_table(ran, hostile):
    for name in COMMAND_LINES:
        ran(name)
    kinds = set()
    for path in hostile.rglob("*"):
        if path.suffix in SHOWN:
            check_shown(path.read_text(), path)
            kinds.add(path.suffix)
    assert kinds == SHOWN
    assert "202e" in (hostile / "r.html").read_text(), (
        "no name is on the page: the law says nothing"
    )


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_no_value_of_an_option_reaches_a_terminal(name, plain):
    command = LEAVES[name]
    base = in_folder(COMMAND_LINES[name][0], plain)
    for option in options_of(command):
        if f"{name} {option.opts[0]}" in UNTRIED:
            continue
        for value in (f"{HOSTILE}{NOT_TEXT}", LONG):
            check([*name.split(), *replaced_option(command, option, base, value)])


def test_an_argument_that_is_no_utf8_is_named_where_a_library_takes_only_utf8(plain):
    check_refused(
        ["analyze", plain / "s.json", "--engine", "local", "--out", f"bill{NOT_TEXT}"],
        "invalid argument: expected text in UTF-8, got bill\\udcff",
        "rename the file or folder, or write the name in UTF-8: this command works with libraries "
        "that take nothing else",
    )


def test_a_folder_below_a_file_is_named(plain):
    check_refused(
        ["analyze", *in_folder(BILL, plain), "--out", "bill", "--tables", plain / "s.json" / "t"],
        f"{plain}/s.json/t/runs: {os.strerror(errno.ENOTDIR)}",
        "check the disk and the target of the output",
    )
