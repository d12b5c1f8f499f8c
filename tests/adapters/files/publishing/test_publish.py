"""A result folder holds the old result or the new one, whatever is killed when."""

import hashlib
import os
import signal
import subprocess
import sys

import pytest

from rackwise.adapters.files import (
    PublishedDay,
    ResultDays,
    check_out,
    free_run,
    publish,
    read_days,
    read_published,
)
from rackwise.adapters.files.publishing import Disk
from rackwise.adapters.files.writing import unfinished_name
from rackwise.core.errors import Conflict, InvalidConfig, InvalidSummary, OtherFormat, WorldError
from rackwise.core.json import strict as strict_json

OLD, NEW = "0123456789ab", "ba9876543210"


def result(text):
    return {
        "report.html": f"<p>{text}".encode(),
        "summary.json": b'{"format":"rackwise.summary/1","text":"%s"}' % text.encode(),
        "csv/by_topic.csv": b'"topic"\n',
        "csv/by_pair.csv": b'"pair"\n',
    }


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def put(out, run_id, text, **changes):
    return publish(
        out, run_id=run_id, files=result(text), tables=f"tables/runs/{run_id}", **changes
    )


def whole(out):
    """The text of the result in a folder, every file of which is the published one."""
    read = read_published(out)
    for path, digest in read.files.items():
        data = (out / path).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
    assert (out / "report.html").read_bytes() == f"<p>{read.summary['text']}".encode()
    return read.summary["text"]


class TestPublishing:
    def test_what_is_published_is_read(self, tmp_path):
        home = put(tmp_path / "out", OLD, "one")
        assert home == tmp_path / "out" / "runs" / OLD
        read = read_published(tmp_path / "out")
        assert (read.run_id, read.tables) == (OLD, f"tables/runs/{OLD}")
        assert set(read.files) == set(result("one"))
        assert whole(tmp_path / "out") == "one"

    def test_the_names_at_the_top(self, tmp_path):
        put(tmp_path, OLD, "one")
        links = {
            path.name: str(path.readlink()) for path in tmp_path.iterdir() if path.is_symlink()
        }
        assert links == {
            "current": f"runs/{OLD}",
            "csv": "current/csv",
            "manifest.json": "current/manifest.json",
            "report.html": "current/report.html",
            "summary.json": "current/summary.json",
        }

    def test_the_manifest(self, tmp_path):
        put(tmp_path, OLD, "one")
        data = (tmp_path / "manifest.json").read_bytes()
        manifest = strict_json.parse(data, where="m", error=InvalidConfig)
        assert manifest["files"]["csv/by_topic.csv"] == {
            "bytes": 8,
            "sha256": hashlib.sha256(b'"topic"\n').hexdigest(),
        }
        assert manifest["format"] == "rackwise.manifest/1"

    def test_a_new_result_replaces_the_old_one(self, tmp_path):
        put(tmp_path, OLD, "one")
        put(tmp_path, NEW, "two")
        assert whole(tmp_path) == "two"
        assert names(tmp_path / "runs") == [NEW]

    def test_the_same_run_again_never_writes_where_readers_are(self, tmp_path):
        first = put(tmp_path, OLD, "one")
        kept = os.open(first, os.O_RDONLY | os.O_DIRECTORY)
        second = put(tmp_path, OLD, "two")
        assert second.name == f"{OLD}-2"
        assert put(tmp_path, OLD, "three").name == OLD
        assert whole(tmp_path) == "three"
        assert names(tmp_path / "runs") == [OLD]
        os.close(kept)

    def test_a_name_that_is_gone_from_the_result_goes_from_the_top(self, tmp_path):
        put(tmp_path, OLD, "one")
        files = result("two")
        del files["csv/by_topic.csv"], files["csv/by_pair.csv"]
        publish(tmp_path, run_id=NEW, files={**files, "plans/1.json": b"{}"}, tables="x")
        assert not (tmp_path / "csv").is_symlink()
        assert (tmp_path / "plans" / "1.json").read_bytes() == b"{}"
        assert whole(tmp_path) == "two"

    def test_what_is_not_ours_stays(self, tmp_path):
        (tmp_path / "runs" / "notes").mkdir(parents=True)
        (tmp_path / "mine.txt").write_text("mine")
        (tmp_path / "link").symlink_to("mine.txt")
        (tmp_path / "tables" / "runs" / "notes").mkdir(parents=True)
        put(tmp_path, OLD, "one")
        put(tmp_path, NEW, "two")
        assert (tmp_path / "link").read_text() == "mine"
        assert (tmp_path / "runs" / "notes").is_dir()
        assert (tmp_path / "tables" / "runs" / "notes").is_dir()

    def test_tables_of_the_run_before_and_unfinished_ones_of_this_run_go(self, tmp_path):
        tables = tmp_path / "tables" / "runs"
        for name in (OLD, NEW, f"{NEW}-2", "aaaaaaaaaaaa"):
            (tables / name / "gold").mkdir(parents=True)
        put(tmp_path, OLD, "one")
        publish(tmp_path, run_id=NEW, files=result("two"), tables=f"tables/runs/{NEW}-2")
        assert names(tables) == ["aaaaaaaaaaaa", f"{NEW}-2"]

    def test_tables_elsewhere_are_left_alone(self, tmp_path):
        (tmp_path / "tables" / "runs" / OLD).mkdir(parents=True)
        publish(tmp_path, run_id=OLD, files=result("one"), tables="s3a://bucket/tables")
        publish(tmp_path, run_id=NEW, files=result("two"), tables="s3a://bucket/tables")
        assert (tmp_path / "tables" / "runs" / OLD).is_dir()

    def test_free_run(self, tmp_path):
        assert free_run(tmp_path, OLD) == OLD
        (tmp_path / OLD).mkdir()
        (tmp_path / f"{OLD}-2").mkdir()
        assert free_run(tmp_path, OLD) == f"{OLD}-3"

    def test_two_at_once_wait_for_each_other(self, tmp_path):
        script = (
            "import sys\n"
            "from rackwise.adapters.files import publish\n"
            "name = sys.argv[2]\n"
            'summary = b\'{"format":"rackwise.summary/1","text":"%s"}\' % name.encode()\n'
            "files = {'report.html': b'<p>' + name.encode(), 'summary.json': summary}\n"
            "for _ in range(5):\n"
            "    publish(sys.argv[1], run_id=name, files=files, tables='')\n"
        )
        processes = [
            subprocess.Popen([sys.executable, "-c", script, str(tmp_path), run])
            for run in (OLD, NEW, OLD)
        ]
        assert [process.wait() for process in processes] == [0, 0, 0]
        assert whole(tmp_path) in {OLD, NEW}
        assert len(names(tmp_path / "runs")) == 1


def of(day, tables, cluster="prod"):
    return PublishedDay(cluster=cluster, day=day, tables=tables)


class TestDays:
    """A result names the run that computed each day; the tables of these runs stay."""

    def test_days_are_read_as_they_were_published(self, tmp_path):
        days = (
            of("2026-11-01", f"tables/runs/{OLD}"),
            PublishedDay(
                cluster="prod",
                day="2026-11-02",
                cluster_id="x",
                tables="s3a://bucket/runs/1",
                name_in_tables="x",
                since="2026-11-02T00:00:00Z",
                until="2026-11-03T00:00:00Z",
                partitions=9,
                partitions_unsafe=0,
            ),
        )
        assert read_days(tmp_path) == ResultDays()
        put(tmp_path, OLD, "one", days=days)
        assert read_days(tmp_path).days == days
        assert read_published(tmp_path).days == days

    def test_a_result_without_days_has_none(self, tmp_path):
        put(tmp_path, OLD, "one")
        assert b"days" not in (tmp_path / "manifest.json").read_bytes()
        assert read_days(tmp_path).days == ()

    def test_tables_stay_as_long_as_a_day_names_them(self, tmp_path):
        tables = tmp_path / "tables" / "runs"
        for name in (OLD, NEW, "aaaaaaaaaaaa"):
            (tables / name / "gold").mkdir(parents=True)
        first, second = (
            of("2026-11-01", f"tables/runs/{OLD}"),
            of("2026-11-02", f"tables/runs/{NEW}"),
        )
        put(tmp_path, OLD, "one", days=[first])
        put(tmp_path, NEW, "two", days=[first, second])
        assert names(tables) == [OLD, "aaaaaaaaaaaa", NEW]
        put(tmp_path, "cccccccccccc", "three", days=[second])
        assert names(tables) == ["aaaaaaaaaaaa", NEW]

    def test_days_that_somebody_published_meanwhile_are_not_lost(self, tmp_path):
        start = read_days(tmp_path)
        put(tmp_path, OLD, "one", after=start)
        with pytest.raises(Conflict, match="another run published a result in ") as raised:
            put(tmp_path, NEW, "two", after=start)
        assert raised.value.hint == "run the command again"
        assert whole(tmp_path) == "one"
        put(tmp_path, NEW, "two", after=read_days(tmp_path))
        assert whole(tmp_path) == "two"


class KillingDisk(Disk):
    """A disk that kills its process before the n-th step, or halfway through a write."""

    def __init__(self, steps):
        self.left = steps

    def _step(self):
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def make_folder(self, path):
        self._step()
        super().make_folder(path)

    def write(self, path, data):
        if self.left == 0:
            path.write_bytes(data[: len(data) // 2])
        self._step()
        super().write(path, data)

    def link(self, path, target):
        if self.left == 0:
            unfinished_name(path).symlink_to(target)
        self._step()
        super().link(path, target)

    def sync(self, folder):
        self._step()
        super().sync(folder)

    def remove(self, path):
        self._step()
        super().remove(path)


def killed_at(step, out, run_id, text):
    """Publish in a process of its own that dies before the given step; whether it did."""
    child = os.fork()
    if child == 0:
        try:
            put(out, run_id, text, disk=KillingDisk(step))
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.fault
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("run_id", [OLD, NEW])
def test_a_publication_killed_at_any_step_leaves_one_whole_result(tmp_path, run_id):
    """F27: a killed `analyze` leaves the old result readable."""
    seen = []
    for step in range(100):
        out = tmp_path / str(step)
        put(out, OLD, "old")
        was_killed = killed_at(step, out, run_id, "new")
        seen.append(whole(out))
        assert put(out, NEW, "next").is_dir()
        assert whole(out) == "next"
        assert names(out / "runs") == [(out / "current").readlink().name]
        left = [path.name for path in out.iterdir() if path.name.endswith(".unfinished")]
        assert left == []
        if not was_killed:
            break
    assert not was_killed
    changed = seen.index("new")
    assert changed > 10
    assert seen == ["old"] * changed + ["new"] * (len(seen) - changed)


@pytest.mark.fault
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_first_publication_killed_at_any_step_leaves_none_or_a_whole_one(tmp_path):
    for step in range(100):
        out = tmp_path / str(step)
        was_killed = killed_at(step, out, OLD, "new")
        if (out / "manifest.json").exists():
            assert whole(out) == "new"
        else:
            with pytest.raises(InvalidConfig, match="holds no result"):
                read_published(out)
        put(out, OLD, "next")
        assert whole(out) == "next"
        if not was_killed:
            break
    assert not was_killed


@pytest.mark.fault
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_publication_killed_at_any_step_keeps_the_tables_of_every_day(tmp_path):
    """F27: whatever is killed when, each day of the result has its tables."""
    first, second, third = (f"tables/runs/{letter * 12}" for letter in "abc")
    before = (of("2026-11-01", first), of("2026-11-02", second))
    after = (of("2026-11-02", second), of("2026-11-03", third))
    seen = set()
    for step in range(100):
        out = tmp_path / str(step)
        for tables in (first, second, third):
            (out / tables / "gold").mkdir(parents=True)
        put(out, OLD, "old", days=before)
        child = os.fork()
        if child == 0:
            try:
                put(out, NEW, "new", days=after, disk=KillingDisk(step))
            finally:
                os._exit(0)
        was_killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        found = read_days(out).days
        assert found in {before, after}
        assert all((out / day.tables / "gold").is_dir() for day in found)
        seen.add(found)
        if not was_killed:
            break
    assert not was_killed
    assert seen == {before, after}
    assert not (out / first).exists()


class TestRefusals:
    def test_no_result(self, tmp_path):
        assert check_out(tmp_path) is None
        assert check_out(tmp_path / "new") is None
        with pytest.raises(InvalidConfig) as raised:
            read_published(tmp_path)
        assert raised.value.message == f"{tmp_path} holds no result: manifest.json is not there"
        assert raised.value.hint == f"rackwise analyze SNAPSHOT --out {tmp_path} makes one"

    def test_another_format_is_refused_before_anything_is_written(self, tmp_path):
        put(tmp_path, OLD, "one")
        manifest = tmp_path / "manifest.json"
        other = manifest.read_text().replace("rackwise.manifest/1", "rackwise.manifest/9")
        manifest.resolve().write_text(other)
        before = sorted(tmp_path.rglob("*"))
        for act in (check_out, lambda out: put(out, NEW, "two")):
            with pytest.raises(OtherFormat) as raised:
                act(tmp_path)
            assert raised.value.message == (
                f"invalid {manifest} at $.format: expected format 1, got 9"
            )
            assert (raised.value.hint, raised.value.exit_code) == ("give another --out", 4)
        assert sorted(tmp_path.rglob("*")) == before
        with pytest.raises(InvalidConfig) as raised:
            read_published(tmp_path)
        assert raised.value.hint == "upgrade Rackwise, a newer one wrote this file"

    def test_a_manifest_of_a_stranger(self, tmp_path):
        (tmp_path / "manifest.json").write_text('{"name": "web app"}')
        with pytest.raises(OtherFormat, match=r"expected format rackwise\.manifest/1, got none"):
            put(tmp_path, OLD, "one")

    def test_a_file_of_the_users_is_not_replaced(self, tmp_path):
        (tmp_path / "report.html").write_text("mine")
        with pytest.raises(InvalidConfig) as raised:
            put(tmp_path, OLD, "one")
        assert raised.value.message == (
            f"{tmp_path / 'report.html'} was not made by Rackwise; it would be replaced"
        )
        assert raised.value.hint == "move it away, or give another --out"
        assert (tmp_path / "report.html").read_text() == "mine"
        assert not (tmp_path / "current").exists()

    def test_a_file_is_no_folder(self, tmp_path):
        (tmp_path / "out").write_text("")
        with pytest.raises(InvalidConfig) as raised:
            put(tmp_path / "out", OLD, "one")
        assert raised.value.message.endswith(
            "out: expected a folder or a new name, got something else"
        )
        assert raised.value.hint == "give --out the path of a folder"

    def test_a_summary_changed_afterwards(self, tmp_path):
        put(tmp_path, OLD, "one")
        (tmp_path / "summary.json").write_bytes(result("two")["summary.json"])
        with pytest.raises(InvalidSummary) as raised:
            read_published(tmp_path)
        assert raised.value.message == (
            f"{tmp_path / 'summary.json'} was changed after it was published"
        )
        assert raised.value.hint == "run rackwise analyze again"

    @pytest.mark.parametrize(
        ("run_id", "path"),
        [
            ("short", "a"),
            (f"{OLD}-2", "a"),
            (OLD, "../a"),
            (OLD, "/a"),
            (OLD, "a/../b"),
            (OLD, "csv//a"),
            (OLD, "\x1b"),
            (OLD, "current"),
            (OLD, "runs/a"),
            (OLD, "manifest.json"),
        ],
    )
    def test_names_that_are_none_of_ours(self, tmp_path, run_id, path):
        with pytest.raises(
            InvalidConfig, match=r"expected a (run id of 12 hex digits|plain path below the folder)"
        ):
            publish(tmp_path, run_id=run_id, files={path: b""}, tables="")
        assert names(tmp_path) == []

    def test_a_disk_that_fails(self, tmp_path):
        class FullDisk(Disk):
            def write(self, _path, _data):
                raise OSError(28, "No space left on device")

        put(tmp_path, OLD, "one")
        with pytest.raises(WorldError) as raised:
            put(tmp_path, NEW, "two", disk=FullDisk())
        assert raised.value.message == f"{tmp_path} cannot be written: No space left on device"
        assert whole(tmp_path) == "one"

    def test_a_signal_just_after_the_switch_leaves_the_new_result(self, tmp_path):
        class SignalledDisk(Disk):
            def link(self, path, target):
                super().link(path, target)
                if path.name == "current":
                    raise KeyboardInterrupt

        put(tmp_path, OLD, "one")
        with pytest.raises(KeyboardInterrupt):
            put(tmp_path, NEW, "two", disk=SignalledDisk())
        assert whole(tmp_path) == "two"
