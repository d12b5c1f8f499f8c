"""Real dirs, real files, some of them hostile: what is read, and what is on the disk after it."""

import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from rackwise.adapters.launch.broker.log_dirs import (
    TEMPORARY,
    read_log_dirs,
    remove_metas,
    write_metas,
)
from rackwise.core.identity.decision.decide import decide
from rackwise.core.identity.model import (
    LocalLogDir,
    MetaProperties,
    Mode,
    Observation,
    Refuse,
    Rules,
    Take,
)
from rackwise.core.identity.nodes.meta import META, parse_meta
from rackwise.core.identity.refusals import ClaimLost, MetaWriteFailed
from rackwise.core.java_properties import MAX_BYTES

SEVEN = MetaProperties(version=0, broker_id=7, cluster_id="c")
KRAFT = MetaProperties(version=1, broker_id=7, cluster_id="c")
NOBODY = 65534
OLD = "hZdBPDQtQ5a6SD2yXr6ExA"
OLD_BYTES = bytes.fromhex("8597413c342d4396ba483db25ebe84c4")


def held() -> None:
    """The claim is still ours."""


def write(paths, meta=SEVEN, check=held):
    return write_metas(read_log_dirs(map(str, paths)), meta, check=check)


def on_disk(path: Path) -> MetaProperties:
    return parse_meta((path / META).read_bytes())


def read(path) -> LocalLogDir:
    (log_dir,) = read_log_dirs([str(path)])
    return log_dir


@contextmanager
def not_as_root(folder: Path):
    """As nobody where we are root, whom no mode stops."""
    user = os.geteuid()
    if user == 0:
        os.chown(folder, NOBODY, -1)
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def open_path():
    """A folder that nobody can reach too."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


class TestRead:
    def test_a_dir_that_is_not_there_and_one_without_a_file_are_empty(self, tmp_path):
        assert read(tmp_path / "none") == LocalLogDir(path=str(tmp_path / "none"))
        assert read(tmp_path) == LocalLogDir(path=str(tmp_path))

    def test_the_file_and_the_partition_directories(self, tmp_path):
        (tmp_path / META).write_bytes(b"version=0\nbroker.id=7\ncluster.id=c\n")
        for name in ("orders-4", "a.b_c-0", "-1", "orders", "orders-4.ab-delete", "x-1.ab-future"):
            (tmp_path / name).mkdir()
        (tmp_path / "file-4").touch()
        assert read(tmp_path) == LocalLogDir(
            path=str(tmp_path), meta=SEVEN, partitions=frozenset({"orders-4", "a.b_c-0"})
        )

    def test_dirs_come_in_order_and_one_that_fails_hides_no_other(self, tmp_path):
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / META).write_bytes(b"\xef\xbb\xbf")
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / META).write_bytes(b"broker.id=7")
        found = read_log_dirs([str(tmp_path / "b"), str(tmp_path / "a")])
        assert [each.meta and each.meta.broker_id for each in found] == [None, 7]
        assert "byte 0xEF at 0" in found[0].problem

    def test_a_fifo_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / META)
        assert read(tmp_path).problem == "expected a regular file, got a FIFO"

    @pytest.mark.parametrize("target", ["there", "nowhere"])
    def test_a_link_is_not_followed(self, tmp_path, target):
        (tmp_path / "there").write_bytes(b"broker.id=7")
        (tmp_path / META).symlink_to(target)
        assert read(tmp_path).problem == "expected a regular file, got a symbolic link"

    def test_a_folder_a_socket_and_a_device(self, tmp_path):
        for name in ("folder", "socket", "device"):
            (tmp_path / name).mkdir()
        (tmp_path / "folder" / META).mkdir()
        assert "got a folder" in read(tmp_path / "folder").problem
        with socket.socket(socket.AF_UNIX) as server:
            before = Path.cwd()
            os.chdir(tmp_path / "socket")  # the path of a socket is short
            try:
                server.bind(META)
            finally:
                os.chdir(before)
        assert "got a socket" in read(tmp_path / "socket").problem

    def test_one_gigabyte_is_not_read(self, tmp_path):
        with (tmp_path / META).open("wb") as file:
            file.truncate(2**30)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert read(tmp_path).problem == (
            f"expected a file of at most {MAX_BYTES} bytes, got one of {2**30}"
        )
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 2**10

    def test_a_file_as_large_as_it_may_be(self, tmp_path):
        (tmp_path / META).write_bytes(b"broker.id=7\n".ljust(MAX_BYTES, b"#"))
        assert read(tmp_path).meta.broker_id == 7
        (tmp_path / META).write_bytes(b"broker.id=7\n".ljust(MAX_BYTES + 1, b"#"))
        assert read(tmp_path).meta is None

    def test_mode_000(self, open_path):
        (open_path / META).write_bytes(b"broker.id=7")
        (open_path / META).chmod(0)
        with not_as_root(open_path):
            assert read(open_path).problem == "expected a readable file, got EACCES"

    def test_a_dir_of_mode_000(self, open_path):
        (open_path / "dir").mkdir(mode=0)
        with not_as_root(open_path):
            assert read(open_path / "dir").problem == "expected a readable dir, got EACCES"

    def test_a_file_as_dir_and_a_name_that_no_dir_has(self, tmp_path):
        (tmp_path / "file").touch()
        assert "ENOTDIR" in read(tmp_path / "file").problem
        assert "EINVAL" in read("a\0b").problem
        assert "ENAMETOOLONG" in read("a" * 5000).problem

    def test_what_cannot_be_read_keeps_the_partitions(self, tmp_path):
        (tmp_path / "orders-4").mkdir()
        (tmp_path / META).mkdir()
        assert read(tmp_path).partitions == {"orders-4"}


FEED = {
    "binary": ([b"\xff\x00\x01"], "META_UNREADABLE"),
    "byte order mark": ([b"\xef\xbb\xbfversion=0\nbroker.id=7\n"], "META_UNREADABLE"),
    "a key twice": ([b"broker.id=7\nbroker.id=8\n"], "META_UNREADABLE"),
    "-1": ([b"broker.id=-1\n"], "META_UNREADABLE"),
    "2^31": ([b"broker.id=2147483648\n"], "META_UNREADABLE"),
    "version 1 in ZooKeeper mode": ([b"version=1\nnode.id=7\ncluster.id=c\n"], "META_VERSION"),
    "two ids": ([b"broker.id=7\n", b"broker.id=8\n"], "META_INCONSISTENT"),
    "another cluster": ([b"broker.id=7\ncluster.id=d\n"], "WRONG_CLUSTER"),
    "CRLF": ([b"version=0\r\nbroker.id=7\r\ncluster.id=c\r\n"], None),
    "id in one of two dirs": ([b"broker.id=7\n", None], None),
}


@pytest.mark.fault
@pytest.mark.parametrize(("files", "code"), FEED.values(), ids=FEED.keys())
def test_each_file_is_the_tables_row_and_none_is_written(tmp_path, files, code):
    for number, data in enumerate(files):
        (tmp_path / str(number)).mkdir()
        if data is not None:
            (tmp_path / str(number) / META).write_bytes(data)
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    observation = Observation(
        mode=Mode.ZOOKEEPER,
        key="h7",
        nonce="n",
        session=1,
        cluster_id="c",
        log_dirs=read_log_dirs(str(tmp_path / str(number)) for number in range(len(files))),
        registered={},
        claims={},
        owners={},
        reserved={},
        at_risk={7: ()},
    )
    decision = decide(observation, Rules())
    if code is None:
        assert isinstance(decision, Take)
        assert (decision.id, decision.how) == (7, "meta")
    else:
        assert isinstance(decision, Refuse)
        assert decision.error.code == code
    after = {path: path.stat() for path in tmp_path.rglob("*")}
    assert {p: (s.st_ino, s.st_mtime_ns) for p, s in after.items()} == {
        p: (s.st_ino, s.st_mtime_ns) for p, s in before.items()
    }


class TestWrite:
    def test_dirs_without_a_file_get_one_and_no_other(self, tmp_path):
        a, b, c, d = (tmp_path / name for name in "abcd")
        for each in (a, b, d):
            each.mkdir()
        (b / META).write_bytes(b"#mine\nbroker.id=7")
        (d / META).mkdir()
        assert write([a, b, c, d]) == (str(a), str(c))
        assert (a / META).read_bytes() == b"version=0\nbroker.id=7\ncluster.id=c\n"
        assert (b / META).read_bytes() == b"#mine\nbroker.id=7"
        assert on_disk(c) == SEVEN
        assert [path.name for path in a.iterdir()] == [META]

    def test_in_version_1_each_dir_has_an_id_of_its_own(self, tmp_path):
        (tmp_path / "old").mkdir()
        (tmp_path / "old" / META).write_text(f"version=1\nnode.id=7\ndirectory.id={OLD}")
        draws = iter([bytes(16), OLD_BYTES, b"\xf8" * 16, b"1" * 16, b"1" * 16, b"2" * 16])
        dirs = [tmp_path / "old", tmp_path / "a", tmp_path / "b"]
        write_metas(
            read_log_dirs(map(str, dirs)), KRAFT, check=held, random_bytes=lambda _: next(draws)
        )
        assert [on_disk(each).directory_id for each in dirs] == [
            OLD,
            "MTExMTExMTExMTExMTExMQ",
            "MjIyMjIyMjIyMjIyMjIyMg",
        ]
        assert on_disk(tmp_path / "a").broker_id == 7

    def test_drawn_without_being_told_how_they_differ(self, tmp_path):
        write([tmp_path / "a", tmp_path / "b"], KRAFT)
        assert on_disk(tmp_path / "a").directory_id != on_disk(tmp_path / "b").directory_id

    @pytest.mark.parametrize(("mode", "of_file"), [(0o755, 0o644), (0o700, 0o600), (0o770, 0o660)])
    def test_the_mode_is_the_dirs_without_the_right_to_execute(self, tmp_path, mode, of_file):
        before = os.umask(0o077)
        try:
            tmp_path.chmod(mode)
            write([tmp_path])
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / META).stat().st_mode) == of_file

    def test_owner_and_group_are_the_dirs(self, tmp_path):
        (tmp_path / "a").mkdir()
        if os.geteuid() == 0:
            os.chown(tmp_path / "a", NOBODY, NOBODY)
        write([tmp_path / "a"])
        of_dir, of_file = (tmp_path / "a").stat(), (tmp_path / "a" / META).stat()
        assert (of_file.st_uid, of_file.st_gid) == (of_dir.st_uid, of_dir.st_gid)

    def test_what_a_killed_run_left_is_removed(self, tmp_path):
        (tmp_path / TEMPORARY).write_bytes(b"version=0\nbroker.id=9999")
        write([tmp_path])
        assert on_disk(tmp_path) == SEVEN
        assert not (tmp_path / TEMPORARY).exists()

    def test_a_link_in_the_place_of_the_temporary_is_not_followed(self, tmp_path):
        (tmp_path / "victim").write_bytes(b"whole")
        (tmp_path / TEMPORARY).symlink_to("victim")
        write([tmp_path])
        assert (tmp_path / "victim").read_bytes() == b"whole"
        assert not (tmp_path / META).is_symlink()

    def test_a_file_that_came_meanwhile_is_not_overwritten(self, tmp_path):
        def another() -> None:
            (tmp_path / META).write_bytes(b"broker.id=8")

        with pytest.raises(MetaWriteFailed, match="EEXIST"):
            write([tmp_path], check=another)
        assert (tmp_path / META).read_bytes() == b"broker.id=8"
        assert not (tmp_path / TEMPORARY).exists()

    def test_all_are_tried_and_each_that_fails_is_named(self, tmp_path):
        a, b, c = (tmp_path / name for name in "abc")
        for each in (a, b, c):
            each.mkdir()
        (b / TEMPORARY).mkdir()
        with pytest.raises(MetaWriteFailed) as failed:
            write([a, b, c])
        assert failed.value.message == (
            f"expected {META} in 3 log dirs, wrote 2: EISDIR in {b}"
        ) or failed.value.message.endswith(f"EPERM in {b}")
        assert failed.value.done == (str(a), str(c))
        assert failed.value.exit_code == 3
        assert on_disk(a) == on_disk(c) == SEVEN

    def test_a_disk_that_is_full(self, tmp_path):
        script = (
            "import resource, signal, sys\n"
            "from rackwise.adapters.launch.broker.log_dirs import read_log_dirs, write_metas\n"
            "from rackwise.core.identity.model import MetaProperties\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))\n"
            "meta = MetaProperties(version=0, broker_id=7)\n"
            "write_metas(read_log_dirs(sys.argv[1:]), meta, check=lambda: None)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False
        )
        assert f"expected {META} in 1 log dir, wrote 0: EFBIG in {tmp_path}" in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_a_dir_that_may_not_be_written(self, open_path):
        (open_path / "dir").mkdir(mode=0o555)
        with not_as_root(open_path), pytest.raises(MetaWriteFailed, match="EACCES"):
            write([open_path / "dir"])


class TestClaim:
    def test_it_is_looked_at_right_before_each_rename(self, tmp_path):
        dirs = [tmp_path / "a", tmp_path / "b"]
        seen = []

        def look() -> None:
            seen.append([sorted(p.name for p in each.glob("*")) for each in dirs])

        write(dirs, check=look)
        assert seen == [[[TEMPORARY], []], [[META], [TEMPORARY]]]

    @pytest.mark.parametrize("lost_at", [1, 2])
    def test_where_it_is_lost_no_file_of_this_run_stays(self, tmp_path, lost_at):
        looks = iter(range(1, 3))

        def look() -> None:
            if next(looks) == lost_at:
                raise ClaimLost("expected the claim on id 7, got a claim of g")

        dirs = [tmp_path / "a", tmp_path / "b"]
        with pytest.raises(ClaimLost):
            write(dirs, check=look)
        assert [path for each in dirs for path in each.glob("*")] == []

    def test_files_stay_where_data_came(self, tmp_path):
        a, b, c = (tmp_path / name for name in "abc")
        write([a, b])
        (b / "orders-4").mkdir()
        assert remove_metas(map(str, [a, b, c])) == (str(a),)
        assert [path.name for path in a.iterdir()] == []
        assert on_disk(b) == SEVEN


@pytest.mark.parametrize(
    ("point", "calls"),
    [("unlink", 1), ("open", 2), ("fchmod", 1), ("fsync", 1), ("rename", 1), ("fsync", 2)],
)
def test_killed_at_any_point_a_dir_has_a_whole_file_or_none(tmp_path, point, calls):
    script = (
        "import os, signal, sys\n"
        "from rackwise.adapters.launch.broker.log_dirs import read_log_dirs, write_metas\n"
        "from rackwise.core.identity.model import MetaProperties\n"
        f"real, left = os.{point}, iter(range({calls}))\n"
        "def die(*a, **k):\n"
        f"    if next(left) == {calls} - 1: os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
        "    return real(*a, **k)\n"
        f"os.{point} = die\n"
        "meta = MetaProperties(version=0, broker_id=7, cluster_id='c')\n"
        "write_metas(read_log_dirs(sys.argv[1:]), meta, check=lambda: None)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], check=False)
    assert done.returncode == -signal.SIGKILL
    is_renamed = (point, calls) == ("fsync", 2)
    assert read(tmp_path).meta == (SEVEN if is_renamed else None)
    assert read(tmp_path).problem is None
    write([tmp_path])
    assert on_disk(tmp_path) == SEVEN
    assert [path.name for path in tmp_path.iterdir()] == [META]


class TestAFileOfVersion0WithoutAnId:
    """Kafka completes it with whatever id it starts under; so the id must be in it before."""

    def test_it_is_completed_and_keeps_what_else_it_says(self, tmp_path):
        (tmp_path / META).write_text("version=0\ncluster.id=k\nx=1\n")
        assert write([tmp_path]) == (str(tmp_path),)
        wanted = MetaProperties(version=0, broker_id=7, cluster_id="k", extra={"x": "1"})
        assert on_disk(tmp_path) == wanted
        assert not (tmp_path / TEMPORARY).exists()

    def test_one_that_lacks_the_cluster_too_gets_both(self, tmp_path):
        (tmp_path / META).write_text("version=0\n")
        write([tmp_path])
        assert on_disk(tmp_path) == SEVEN

    def test_one_that_was_changed_meanwhile_stays_as_it_is(self, tmp_path):
        (tmp_path / META).write_text("version=0\n")

        def changed():
            (tmp_path / META).write_text("version=0\nbroker.id=9\n")

        with pytest.raises(MetaWriteFailed, match="EEXIST"):
            write([tmp_path], check=changed)
        assert on_disk(tmp_path).broker_id == 9

    def test_in_kraft_mode_it_is_read_and_never_written(self, tmp_path):
        (tmp_path / META).write_text("version=0\n")
        assert write([tmp_path], KRAFT) == ()
        assert (tmp_path / META).read_text() == "version=0\n"
