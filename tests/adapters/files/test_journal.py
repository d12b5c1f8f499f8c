"""The journal: on the disk before it is told, whole up to its last line, refused when damaged."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.adapters.files.journal import (
    journal_path,
    open_journal,
    parse_journal,
)
from rackwise.core.errors import InvalidPlan, JournalUnwritable

PLAN = "5f" * 32
NOW = "2026-01-02T03:04:05Z"


def begun(folder, *more):
    journal = open_journal(folder, PLAN)
    journal.append("begin", {"plan": PLAN}, at=NOW)
    for number in more:
        journal.append("go", {"number": number}, at=NOW)
    journal.close()
    return journal.path


def test_lines_are_chained_canonical_json(tmp_path):
    path = begun(tmp_path, 7)
    bodies = (
        f'{{"at":"{NOW}","format":"rackwise.journal/1","plan":"{PLAN}","seq":1,"type":"begin"}}',
        f'{{"at":"{NOW}","number":7,"seq":2,"type":"go"}}',
    )
    first = sha256(bodies[0].encode()).hexdigest()[:16]
    second = sha256((first + bodies[1]).encode()).hexdigest()[:16]
    assert path.read_text() == "".join(
        body.replace(f'"at":"{NOW}"', f'"at":"{NOW}","check":"{check}"') + "\n"
        for body, check in zip(bodies, (first, second), strict=True)
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_was_written_is_read_and_gone_on_with(tmp_path):
    begun(tmp_path, 1, 2)
    journal = open_journal(tmp_path, PLAN)
    assert [(each.seq, each.at, each.type, dict(each.fields)) for each in journal.entries[1:]] == [
        (2, NOW, "go", {"number": 1}),
        (3, NOW, "go", {"number": 2}),
    ]
    journal.append("end", {}, at=NOW)
    journal.close()
    assert [each.type for each in open_journal(tmp_path, PLAN).entries] == [
        "begin",
        "go",
        "go",
        "end",
    ]


def test_no_journal_is_an_empty_one_and_makes_no_file(tmp_path):
    assert open_journal(tmp_path, PLAN).entries == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_torn_last_line_is_dropped_and_written_over(tmp_path, cut):
    path = begun(tmp_path, 1, 2)
    path.write_bytes(path.read_bytes()[:-cut])
    journal = open_journal(tmp_path, PLAN)
    assert [each.fields.get("number") for each in journal.entries] == [None, 1]
    journal.append("go", {"number": 3}, at=NOW)
    journal.close()
    assert [each.fields.get("number") for each in open_journal(tmp_path, PLAN).entries] == [
        None,
        1,
        3,
    ]


def test_a_first_line_that_was_torn_leaves_an_empty_journal(tmp_path):
    path = begun(tmp_path)
    path.write_bytes(path.read_bytes()[:20])
    begun(tmp_path, 1)
    assert [each.type for each in open_journal(tmp_path, PLAN).entries] == ["begin", "go"]


@given(st.data())
def test_every_cut_is_a_journal_of_the_lines_before_it(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("journal")
    path = begun(folder, 1, 2, 3)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    read = parse_journal(whole[:cut], path)
    assert len(read.entries) == whole[:cut].count(b"\n")


@given(st.data())
def test_a_byte_that_was_changed_in_a_whole_line_is_damage(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("journal")
    path = begun(folder, 1, 2, 3)
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda each: each != whole[at]))
    whole[at] = byte
    with pytest.raises(InvalidPlan):
        parse_journal(bytes(whole), path)


def test_damage_names_line_and_offset(tmp_path):
    path = begun(tmp_path, 1, 2)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b'"number":1', b'"number":9') + lines[2])
    with pytest.raises(InvalidPlan) as raised:
        open_journal(tmp_path, PLAN)
    assert raised.value.where == f"{path}:2"
    assert f":2: offset {len(lines[0])}: expected a whole journal" in raised.value.message
    assert "check" in raised.value.message


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"[]\n", "expected the keys at, type and check"),
        (b"{}\n", "expected the keys at, type and check"),
        (b'{"at":"a","check":"c","seq":2,"type":"go"}\n', "expected seq 1, got 2"),
        (b'{"at":"a","check":"c","seq":true,"type":"go"}\n', "expected seq 1, got True"),
        (b'{"at":"a","check":"c","seq":1,"type":"go"}\n', ", got c"),
        (b'{"at":"a","check":"c","seq":1,"size":0.5,"type":"go"}\n', "integers and texts"),
        (b"\0\0\0\n", "got a damaged line"),
    ],
)
def test_lines_that_are_none(tmp_path, line, why):
    with pytest.raises(InvalidPlan) as raised:
        parse_journal(line, tmp_path / "x.journal")
    assert why in raised.value.message


def test_a_first_line_that_begins_nothing(tmp_path):
    journal = parse_journal(b"", tmp_path / "x.journal")
    journal.append("go", {}, at=NOW)
    journal.close()
    newer = f'{{"at":"{NOW}","format":"rackwise.journal/2","seq":1,"type":"begin"}}'
    check = sha256(newer.encode()).hexdigest()[:16]
    for line in (
        journal.path.read_bytes(),
        newer.replace('"format"', f'"check":"{check}","format"').encode() + b"\n",
    ):
        with pytest.raises(InvalidPlan, match=r"expected begin of rackwise.journal/1"):
            parse_journal(line, journal.path)


def test_lines_in_another_order_or_left_out_are_damage(tmp_path):
    path = begun(tmp_path, 1, 2)
    first, second, third = path.read_bytes().splitlines(keepends=True)
    for wrong in (first + third, second, first + third + second, first + second + second):
        with pytest.raises(InvalidPlan):
            parse_journal(wrong, path)


def test_the_journal_of_another_plan_is_refused(tmp_path):
    begun(tmp_path).rename(journal_path(tmp_path, "aa" * 32))
    with pytest.raises(
        InvalidPlan, match="expected the journal of plan aaaaaaaaaaaa, got that of plan 5f"
    ):
        open_journal(tmp_path, "aa" * 32)


def test_a_link_is_not_followed(tmp_path):
    begun(tmp_path).rename(tmp_path / "elsewhere")
    journal_path(tmp_path, PLAN).symlink_to("elsewhere")
    with pytest.raises(JournalUnwritable, match="it is a link"):
        open_journal(tmp_path, PLAN)


def test_a_folder_where_the_journal_should_be(tmp_path):
    journal_path(tmp_path, PLAN).mkdir()
    with pytest.raises(JournalUnwritable, match="folder"):
        open_journal(tmp_path, PLAN)


def test_a_folder_that_is_gone(tmp_path):
    journal = open_journal(tmp_path / "none", PLAN)
    with pytest.raises(
        JournalUnwritable, match=r"cannot keep a journal at .*: No such file or directory"
    ):
        journal.append("begin", {}, at=NOW)
    with pytest.raises(JournalUnwritable):
        journal.append("begin", {}, at=NOW)


def test_a_disk_that_is_full_leaves_the_lines_before(tmp_path):
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from rackwise.adapters.files.journal import open_journal\n"
        "from rackwise.core.errors import JournalUnwritable\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))\n"
        "journal = open_journal(Path(sys.argv[1]), sys.argv[2])\n"
        "journal.append('begin', {'plan': sys.argv[2]}, at='t')\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        while True:\n"
        "            journal.append('go', {'some': 'x' * 50}, at='t')\n"
        "    except JournalUnwritable as error:\n"
        "        print(error.had)\n"
        "journal.close()\n"
    )
    told = subprocess.check_output([sys.executable, "-c", script, str(tmp_path), PLAN], text=True)
    assert told.splitlines() == ["File too large", "Bad file descriptor"]
    size = journal_path(tmp_path, PLAN).stat().st_size
    entries = open_journal(tmp_path, PLAN).entries
    assert [each.type for each in entries] == ["begin"] + ["go"] * (len(entries) - 1)
    assert len(entries) > 1
    assert size < 700
    assert journal_path(tmp_path, PLAN).read_bytes().endswith(b"\n")


def test_a_line_is_on_the_disk_when_append_comes_back(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(real(descriptor)))
    journal = open_journal(tmp_path, PLAN)
    journal.append("begin", {"plan": PLAN}, at=NOW)
    first = len(synced)
    journal.append("go", {}, at=NOW)
    assert first >= 2, "the file and its folder"
    assert len(synced) == first + 1
    journal.close()


def is_open(path):
    """Whether a descriptor of this process is that of the file."""
    links = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor of the listing itself has gone
            links.append(each.readlink())
    return path.resolve() in links


@pytest.mark.parametrize("failing", ["ftruncate", "fsync"])
def test_a_journal_that_cannot_be_opened_is_closed_and_rejects_further_lines(
    tmp_path, monkeypatch, failing
):
    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    journal = open_journal(tmp_path, PLAN)
    with monkeypatch.context() as patched:
        patched.setattr(os, failing, broken)
        with pytest.raises(JournalUnwritable, match="Input/output error"):
            journal.append("begin", {"plan": PLAN}, at=NOW)
    for _ in range(3):
        with pytest.raises(JournalUnwritable):
            journal.append("begin", {"plan": PLAN}, at=NOW)
    assert not is_open(journal.path)
    journal.close()
    assert open_journal(tmp_path, PLAN).entries == ()
