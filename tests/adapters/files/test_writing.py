"""A file is written whole or not at all; CSV cells compute nothing; equal data packs equally."""

import csv
import errno
import gzip
import io
import os
import re
import stat
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.adapters.files import writing
from rackwise.adapters.files.writing import (
    FORMULA,
    csv_cell,
    csv_data,
    csv_text,
    not_written,
    packed,
    unfinished_name,
    write_bytes,
    write_text,
)
from rackwise.core.errors import InvalidConfig, WorldError


class TestWholeOrNot:
    def test_new_and_old(self, tmp_path):
        write_text(tmp_path / "a.json", "é\n")
        assert (tmp_path / "a.json").read_bytes() == "é\n".encode()
        write_bytes(tmp_path / "a.json", b"new")
        assert (tmp_path / "a.json").read_bytes() == b"new"
        assert [path.name for path in tmp_path.iterdir()] == ["a.json"]

    @pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0, 0o666)])
    def test_the_mode_is_what_the_umask_leaves(self, tmp_path, umask, mode):
        before = os.umask(umask)
        try:
            write_bytes(tmp_path / "a", b"")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode

    def test_a_link_stays_one(self, tmp_path):
        (tmp_path / "target").write_bytes(b"old")
        (tmp_path / "link").symlink_to("target")
        write_bytes(tmp_path / "link", b"new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "target").read_bytes() == b"new"

    def test_nobody_can_foresee_the_name_of_the_hidden_file(self, tmp_path):
        names = {unfinished_name(tmp_path / "a").name for _ in range(1000)}
        assert len(names) == 1000
        assert all(re.fullmatch(r"\.a\.[0-9a-f]{16}\.unfinished", name) for name in names)

    @pytest.mark.parametrize("prepare", ["file", "link", "dangling", "pipe", "folder"])
    def test_what_has_the_name_of_the_hidden_file_is_neither_written_to_nor_published(
        self, tmp_path, monkeypatch, prepare
    ):
        hidden = tmp_path / ".a.unfinished"
        monkeypatch.setattr(writing, "unfinished_name", lambda _: hidden)
        victim = tmp_path / "victim"
        match prepare:
            case "file":
                hidden.write_bytes(b"of another user")
            case "link":
                victim.write_bytes(b"of another user")
                hidden.symlink_to(victim)
            case "dangling":
                hidden.symlink_to(victim)
            case "pipe":
                os.mkfifo(hidden)
            case "folder":
                hidden.mkdir()
        before = hidden.lstat()
        (tmp_path / "a").write_bytes(b"old")
        with pytest.raises(WorldError, match="cannot be written: File exists"):
            write_bytes(tmp_path / "a", b"new")
        assert (tmp_path / "a").read_bytes() == b"old"
        assert os.path.samestat(hidden.lstat(), before)
        assert hidden.lstat().st_size == before.st_size
        assert victim.exists() == (prepare == "link")
        if victim.exists():
            assert victim.read_bytes() == b"of another user"

    def test_a_disk_that_fails_leaves_the_old_file_and_nothing_else(self, tmp_path):
        script = (
            "import resource, signal, sys\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
            "from rackwise.adapters.files import write_bytes\n"
            "from rackwise.core.errors import WorldError\n"
            "try:\n"
            "    write_bytes(sys.argv[1], bytes(2000))\n"
            "except WorldError as error:\n"
            "    print(error.message, error.hint, sep='|')\n"
        )
        path = tmp_path / "a"
        path.write_bytes(b"old")
        told = subprocess.check_output([sys.executable, "-c", script, str(path)], text=True)
        assert told == (
            f"{path} cannot be written: File too large"
            "|look at the disk; what was there before is still there\n"
        )
        assert path.read_bytes() == b"old"
        assert [path.name for path in tmp_path.iterdir()] == ["a"]


class TestPathsThatCannotBe:
    def test_no_such_folder(self, tmp_path):
        with pytest.raises(InvalidConfig) as raised:
            write_bytes(tmp_path / "none" / "a", b"")
        assert raised.value.message.endswith("none/a cannot be written: No such file or directory")
        assert raised.value.hint == ("look at the folder and its permissions; nothing was changed")

    @pytest.mark.parametrize("path", ["/dev/full", "."])
    def test_a_device_or_folder_is_not_replaced(self, path):
        with pytest.raises(InvalidConfig) as raised:
            write_bytes(path, b"")
        assert raised.value.message == (
            f"invalid {path}: expected a regular file or a new name, got something else"
        )
        assert raised.value.hint == "give the path of a file"

    def test_a_pipe_that_is_reached_through_a_link_is_not_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("pipe")
        with pytest.raises(InvalidConfig, match="expected a regular file or a new name"):
            write_bytes(tmp_path / "link", b"")

    @pytest.mark.parametrize("name", ["/dev/stdout", "a"])
    def test_the_file_that_output_goes_to_is_not_replaced(self, tmp_path, name):
        script = (
            "import sys\n"
            "from rackwise.adapters.files import write_bytes\n"
            "from rackwise.core.errors import InvalidConfig\n"
            "try:\n"
            "    write_bytes(sys.argv[1], b'x')\n"
            "except InvalidConfig as error:\n"
            "    print(error.message)\n"
        )
        with (tmp_path / "a").open("wb") as file:
            command = [sys.executable, "-c", script, name]
            subprocess.run(command, stdout=file, cwd=tmp_path, check=True)
        told = f"invalid {name}: expected another file, got the file that the output goes to\n"
        assert (tmp_path / "a").read_text() == told

    def test_a_file_in_place_of_a_folder(self, tmp_path):
        (tmp_path / "a").write_bytes(b"")
        with pytest.raises(InvalidConfig, match="Not a directory"):
            write_bytes(tmp_path / "a" / "b", b"")

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            (errno.EACCES, InvalidConfig),
            (errno.EROFS, InvalidConfig),
            (errno.ENOSPC, WorldError),
            (errno.EIO, WorldError),
        ],
    )
    def test_whose_fault_it_is(self, code, error):
        made = not_written("a\x1b", OSError(code, os.strerror(code)))
        assert type(made) is error
        assert made.message == f"a\\x1b cannot be written: {os.strerror(code)}"


class TestGzip:
    @given(st.binary(max_size=200))
    def test_what_is_packed_unpacks(self, data):
        assert gzip.decompress(packed(data)) == data

    def test_no_time_and_no_name(self):
        data = packed(b"x" * 100)
        assert data == packed(b"x" * 100)
        assert data[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


class TestCsv:
    @given(st.lists(st.lists(st.text(max_size=5), min_size=2, max_size=2), max_size=5))
    def test_cells_are_read_back_and_none_computes(self, rows):
        text = csv_text(["a", "b"], rows)
        assert csv_data(["a", "b"], rows) == text.encode()
        read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert read == [["a", "b"], *[[csv_cell(cell) for cell in row] for row in rows]]
        for row in read:
            assert not any(cell.startswith(FORMULA) for cell in row)

    @pytest.mark.parametrize("first", FORMULA)
    def test_a_formula_gets_a_quote(self, first):
        assert csv_cell(f"{first}1") == f"'{first}1"

    def test_every_cell_but_none_is_quoted_and_lines_end_with_lf(self):
        assert csv_text(["a", "=b"], [[None, -1], ['x"y', True], ["", 0]]) == (
            '"a","\'=b"\n,"-1"\n"x""y","True"\n"","0"\n'
        )
