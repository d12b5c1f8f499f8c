"""Committed batches: after a kill between any two steps, a mark is complete or absent."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from rackwise.core.errors import CheckpointMismatch
from rackwise.pipeline.stream.store import FORMAT, Batch, Store, StoreDisk, token_of
from stream_runs import Looking

TOKEN = f"{7:016x}"


def batch(**more):
    fields = {"token": TOKEN, "batch_id": 0, "attempt": "a", "reasons": {"kept": 2}, "bytes": 5}
    return Batch(**(fields | {"offsets": {"t-0": (4, 5)}, "days": None} | more))


class TestMarks:
    def test_a_committed_batch_is_read_back(self, tmp_path):
        store = Store(str(tmp_path))
        wanted = (batch(batch_id=3), batch(batch_id=10, days=(7, 8)))
        for each in reversed(wanted):
            store.commit(each)
        assert store.batches() == wanted
        assert [store.committed(TOKEN, number) for number in (3, 4)] == [wanted[0], None]
        assert store.numbers(TOKEN) == [3, 10]

    def test_the_first_committed_attempt_is_final(self, tmp_path):
        store = Store(str(tmp_path))
        for table in ("stream", "stream_gold"):
            for attempt in "ab":
                Path(store.folder(TOKEN, 0, attempt, table=table)).mkdir(parents=True)
        store.commit(batch(attempt="a"))
        Path(store.folder(TOKEN, 0, "b")).mkdir()
        store.commit(batch(attempt="b", bytes=9))
        assert store.batches() == (batch(attempt="a"),)
        left = [path.parent.parent.parent.name for path in tmp_path.rglob("attempt=*")]
        assert sorted(left) == ["stream", "stream_gold"]

    def test_a_mark_of_another_format_is_rejected(self, tmp_path):
        store = Store(str(tmp_path))
        store.commit(batch(batch_id=3))
        mark = tmp_path / "stream" / "_committed" / f"{TOKEN}-3.json"
        mark.write_text(mark.read_text().replace("stream/1", "stream/2"))
        with pytest.raises(CheckpointMismatch, match="stream/2"):
            store.batches()
        mark.write_text("{")
        with pytest.raises(CheckpointMismatch, match="no JSON"):
            store.batches()


def spark_log(home, name, number, text='v1\n{"batchWatermarkMs":0}\n{"t":{"0":5}}'):
    (home / name).mkdir(exist_ok=True)
    (home / name / str(number)).write_text(text)


class TestCheckpoints:
    @pytest.fixture
    def place(self, tmp_path):
        """A checkpoint and its folder after one whole batch: (checkpoint, store)."""
        checkpoint, store = tmp_path / "mark", Store(str(tmp_path / "out"))
        token = token_of(str(checkpoint), store)
        (checkpoint / "metadata").write_text('{"id":"7"}')
        spark_log(checkpoint, "offsets", 0)
        spark_log(checkpoint, "commits", 0, 'v1\n{"nextBatchWatermarkMs":0}')
        store.commit(batch(token=token))
        assert token_of(str(checkpoint), store) == token
        return checkpoint, store

    def refused(self, checkpoint, store, match):
        with pytest.raises(CheckpointMismatch, match=match) as refused:
            token_of(str(checkpoint), store)
        assert refused.value.hint
        return refused.value

    def test_its_token_never_changes(self, place, tmp_path):
        checkpoint, store = place
        assert token_of(str(checkpoint), store) == token_of(str(checkpoint), store)
        assert token_of(str(tmp_path / "other"), store) != token_of(str(checkpoint), store)

    def test_it_moves_with_its_folder(self, place, tmp_path):
        checkpoint, store = place
        token = token_of(str(checkpoint), store)
        shutil.move(store.out, tmp_path / "moved")
        shutil.move(checkpoint, tmp_path / "elsewhere")
        assert token_of(str(tmp_path / "elsewhere"), Store(str(tmp_path / "moved"))) == token

    def test_a_checkpoint_of_another_folder_is_rejected(self, place, tmp_path):
        error = self.refused(place[0], Store(str(tmp_path / "elsewhere")), "belongs to another")
        assert (
            error.hint == "give the --out that it was created with, or choose another --checkpoint"
        )

    def test_a_checkpoint_of_another_program_is_rejected(self, tmp_path):
        (tmp_path / "foreign").mkdir()
        (tmp_path / "foreign" / "metadata").write_text("{}")
        self.refused(tmp_path / "foreign", Store(str(tmp_path / "out")), "another program created")

    def test_states_that_a_kill_leaves_are_accepted(self, place):
        checkpoint, store = place
        spark_log(checkpoint, "offsets", 1)
        token = token_of(str(checkpoint), store)
        store.commit(batch(token=token, batch_id=1))
        assert token_of(str(checkpoint), store) == token

    def test_a_checkpoint_restored_from_a_copy_is_rejected(self, place):
        """F27: what it reads next would have the number of a batch that counts, and be lost."""
        checkpoint, store = place
        store.commit(batch(token=token_of(str(checkpoint), store), batch_id=1))
        error = self.refused(checkpoint, store, "expected batches up to 0 .* the last is 1")
        assert error.hint.startswith("one of the two was restored from a copy: choose another")

    @pytest.mark.parametrize("begun", [(1, 2), (1, 2, 3)])
    def test_tables_restored_from_a_copy_are_rejected(self, place, begun):
        for number in begun:
            spark_log(place[0], "offsets", number)
        self.refused(*place, f"expected batches up to {begun[-1]} .* the last is 0")

    def test_a_missing_batch_is_detected(self, place):
        checkpoint, store = place
        token = token_of(str(checkpoint), store)
        spark_log(checkpoint, "offsets", 1)
        store.commit(batch(token=token, batch_id=1))
        (Path(store.out) / "stream" / "_committed" / f"{token}-0.json").unlink()
        self.refused(checkpoint, store, "expected batches up to 1 .* got 1 committed")

    @pytest.mark.parametrize("name", ["offsets/0", "commits/0", "metadata"])
    @pytest.mark.parametrize("text", ["", "v1", "v1\n{", "\0\0\0", 'v1\n{"a":1}\n{"t'])
    def test_a_truncated_log_is_rejected(self, place, name, text):
        """F27: with the way out."""
        (place[0] / name).write_text(text)
        error = self.refused(*place, "a file that was cut or changed")
        assert "choose another --checkpoint: the topic is read again" in error.hint

    @pytest.mark.parametrize("text", ["", "{", '{"format":"rackwise.stream/2"}'])
    def test_a_token_of_another_format_is_rejected(self, place, text):
        (place[0] / "rackwise.json").write_text(text)
        self.refused(*place, f"expected {FORMAT}, got")

    @pytest.mark.parametrize("token", ['"../x"', "7", "null"])
    def test_a_damaged_token_is_rejected(self, place, token):
        (place[0] / "rackwise.json").write_text(f'{{"format":"{FORMAT}","token":{token}}}')
        self.refused(*place, "invalid token .* expected 16 hex digits")


class KillingDisk(StoreDisk):
    """Ends its process before a step."""

    def __init__(self, step):
        self.left = step

    def __getattribute__(self, name):
        if name in {"make_folder", "write", "place", "remove", "sync"}:
            self.left -= 1
            if self.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return object.__getattribute__(self, name)


def run(home, store, wanted):
    """The steps of a run for its first batch, with Spark's log of it."""
    token = token_of(str(home / "mark"), store)
    spark_log(home / "mark", "offsets", 0)
    Path(store.folder(token, 0, wanted.attempt)).mkdir(parents=True, exist_ok=True)
    store.commit(replace(wanted, token=token))


def killed_at(step, home):
    """Run a first time in a new process; returns whether it died before the step."""
    child = os.fork()
    if child == 0:
        try:
            store = Store(str(home / "out"), KillingDisk(step))
            run(home, store, batch())
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.fault
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_killed_at_any_step_a_batch_counts_once_or_not_yet(tmp_path):
    """F27: a reader never sees half a mark; a second run has the result of an undisturbed run."""
    for step in range(100):
        home = tmp_path / str(step)
        marks = Store(str(home / "out"))
        look = lambda marks=marks: tuple(each.bytes for each in marks.batches())  # noqa: E731
        with Looking(look, pause_s=0) as reader:
            was_killed = killed_at(step, home)
            store = Store(str(home / "out"))
            before = [each.attempt for each in store.batches()]
            run(home, store, batch(attempt="c"))
        assert set(reader.seen) <= {(), (5,)}
        (only,) = store.batches()
        assert [only.attempt] == (before or ["c"])
        folders = [path.name for path in Path(store.folder_of(only)).parent.iterdir()]
        assert folders == [f"attempt={only.attempt}"]
        if not was_killed:
            break
    assert step > 10
