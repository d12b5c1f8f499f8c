"""A file is read whole, within a cap, and only if it is a regular file."""

import gzip
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.adapters.files.bounded_read import read_bytes
from rackwise.adapters.files.writing import packed
from rackwise.core.errors import InvalidConfig, InvalidPlan

CAP = 1000
REGULAR = "give the path of a file; of a pipe, write its output to a file first"
LARGER = "if the file is meant to be so large, raise --max-input"
DAMAGED = "fetch or pack the file again"


def read(path, cap=CAP):
    return read_bytes(path, error=InvalidPlan, max_bytes=cap)


def refused(path, error=InvalidConfig, cap=CAP):
    with pytest.raises(error) as raised:
        read(path, cap)
    assert type(raised.value) is error
    return raised.value


@pytest.fixture
def file(tmp_path):
    def write(data, name="plan.json"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


class TestOnlyRegularFiles:
    def test_a_folder(self, tmp_path):
        error = refused(tmp_path)
        assert error.message == f"invalid {tmp_path}: expected a regular file, got a folder"
        assert (error.wanted, error.had, error.hint) == ("a regular file", "folder", REGULAR)

    def test_a_fifo_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "plan.json")
        error = refused(tmp_path / "plan.json")
        assert error.message.endswith("plan.json: expected a regular file, got a FIFO")
        assert error.hint == REGULAR

    def test_a_device(self):
        error = refused("/dev/zero")
        assert error.message == (
            "invalid /dev/zero: expected a regular file, got a character device"
        )
        assert error.hint == REGULAR

    def test_a_socket(self, tmp_path):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / "s"))
            assert refused(tmp_path / "s").had == "socket"

    def test_a_link_to_a_device_is_the_device(self, tmp_path):
        (tmp_path / "plan.json").symlink_to("/dev/zero")
        assert refused(tmp_path / "plan.json").had == "character device"

    def test_a_link_to_a_file_is_the_file(self, file, tmp_path):
        (tmp_path / "link.json").symlink_to(file(b"{}"))
        assert read(tmp_path / "link.json") == b"{}"

    def test_nothing_there(self, tmp_path):
        error = refused(tmp_path / "plan.json")
        assert error.message.endswith("plan.json cannot be read: No such file or directory")
        assert error.hint == "look at the path and its permissions"
        assert error.where == str(tmp_path / "plan.json")

    def test_a_file_in_place_of_a_folder(self, file):
        assert refused(file(b"") / "x").had == "Not a directory"

    def test_a_path_with_a_nul(self):
        error = refused("a\x00b\x1b")
        assert error.message == "a\\x00b\\x1b is no path: embedded null byte"
        assert error.hint == "a path holds no NUL"


class TestTheCap:
    def test_at_the_cap(self, file):
        assert len(read(file(b"x" * CAP))) == CAP

    def test_one_byte_over(self, file):
        error = refused(file(b"x" * (CAP + 1)))
        assert error.message.endswith(f"plan.json: expected at most {CAP} bytes, got {CAP + 1}")
        assert (error.wanted, error.hint) == (CAP, LARGER)

    def test_a_file_that_says_it_is_empty_and_is_not(self):
        error = refused("/proc/self/status", cap=10)
        assert error.message == "invalid /proc/self/status: expected at most 10 bytes, got more"

    def test_it_holds_after_unpacking(self, file):
        assert len(read(file(gzip.compress(b"x" * CAP)))) == CAP
        error = refused(file(gzip.compress(b"x" * (CAP + 1))))
        assert error.message.endswith(f"expected at most {CAP} bytes, got more after unpacking")
        assert error.hint == LARGER

    def test_it_holds_over_all_members(self, file):
        member = gzip.compress(b"x" * (CAP // 2))
        assert len(read(file(member * 2))) == CAP
        assert refused(file(member * 3)).hint == LARGER

    def test_a_bomb_costs_neither_memory_nor_time(self, file):
        path = file(packed(bytes(600 * 2**20)), "bomb.json.gz")
        assert path.stat().st_size < 2**20
        script = (
            "import resource, sys\n"
            "from rackwise.adapters.files.bounded_read import read_bytes\n"
            "from rackwise.core.errors import InvalidConfig, InvalidPlan\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "try:\n"
            "    read_bytes(sys.argv[1], error=InvalidPlan)\n"
            "except InvalidConfig:\n"
            "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        )
        grown = subprocess.check_output([sys.executable, "-c", script, str(path)])
        assert int(grown) < 100 * 1024

    def test_many_small_members_cost_what_their_bytes_cost(self, file):
        def seconds(members):
            path = file(gzip.compress(b"", mtime=0) * members, f"{members}.gz")
            begun = time.process_time()
            assert read(path, cap=2**20) == b""
            return time.process_time() - begun

        seconds(1000)
        assert seconds(40_000) < 40 * seconds(4_000)


class TestGzip:
    def test_it_is_told_by_its_bytes(self, file):
        assert read(file(gzip.compress(b"{}"), "plan.json")) == b"{}"

    def test_its_name_promises_it(self, file):
        error = refused(file(b"{}", "plan.json.gz"), InvalidPlan)
        assert error.message.endswith(
            "plan.json.gz: expected gzip data, as the name ends with .gz, got something else"
        )
        assert (error.had, error.hint) == ("7b 7d", "rename it, or pack it with gzip")

    def test_padding_of_zeros_is_let_through(self, file):
        assert read(file(gzip.compress(b"{}") + bytes(512))) == b"{}"

    @pytest.mark.parametrize("cap", [CAP, 2**30])
    def test_every_truncation_is_told(self, file, cap):
        whole = gzip.compress(b'{"a":1}' * 20)
        for end in range(2, len(whole)):
            error = refused(file(whole[:end]), InvalidPlan, cap)
            assert error.message.endswith(
                "expected whole gzip data, got the end of the file within a member"
            )
            assert error.hint == DAMAGED

    def test_a_wrong_checksum_is_told(self, file):
        whole = bytearray(gzip.compress(b"{}"))
        whole[-6] ^= 1
        error = refused(file(bytes(whole)), InvalidPlan)
        assert error.message.endswith(
            "expected whole gzip data, got wrong data or a wrong checksum"
        )
        assert error.hint == DAMAGED

    def test_what_follows_the_last_member_is_told(self, file):
        assert refused(file(gzip.compress(b"{}") + b"tail"), InvalidPlan).hint == DAMAGED

    @given(data=st.binary(max_size=60), at=st.integers(0, 60), byte=st.integers(0, 255))
    def test_damaged_bytes_end_in_our_error(self, tmp_path_factory, data, at, byte):
        whole = bytearray(packed(data))
        whole[at % len(whole)] = byte
        path = tmp_path_factory.mktemp("gzip") / "x"
        path.write_bytes(bytes(whole))
        with suppress(InvalidPlan, InvalidConfig):
            read(path)
