"""The files of a Spark task: messages, their sums, and the counts that go to the driver."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pyarrow.parquet
import pytest

from rackwise.pipeline.stream import tasks
from rackwise.pipeline.stream.tasks import TaskFiles, TaskWriter, total
from telemetry import ROW, message
from telemetry_cases import CORNERS, REASONS, kafka_batch

SENT = [value for value, _ in REASONS + CORNERS]


def returned(folder, batches):
    """The total of what a task returns."""
    rows = [row for found in TaskWriter(str(folder))(batches) for row in found.to_pylist()]
    return total([SimpleNamespace(**row) for row in rows])


def files_of(folder, found):
    (name,) = found.files
    return [pyarrow.parquet.read_table(path) for path in TaskFiles.of(str(folder), name)]


@pytest.mark.parametrize("held_bytes", [1, tasks.HELD_BYTES])
def test_the_counts_are_those_of_the_files(tmp_path, monkeypatch, held_bytes):
    """Law: every message is in the file and in one count; the sums have all bytes."""
    monkeypatch.setattr(tasks, "HELD_BYTES", held_bytes)
    batch = kafka_batch(SENT)
    found = returned(tmp_path, [batch.slice(start, 9) for start in range(0, len(SENT), 9)])
    messages, sums = files_of(tmp_path, found)
    rows = messages.to_pylist()
    assert [row["kafka_offset"] for row in rows] == list(range(len(SENT)))
    assert found.messages == len(SENT)
    reasons = [row["reason"] for row in rows]
    assert found.reasons == {reason: reasons.count(reason) for reason in sorted({*reasons})}
    kept = [cell for row in rows for cell in row["rows"] or ()]
    assert found.bytes == sum(cell["bytes"] for cell in kept)
    assert sum(sums.column("bytes").to_pylist()) == found.bytes > 0
    assert sum(sums.column("rows").to_pylist()) == len(kept)
    assert found.offsets == {"t-0": (0, len(SENT) - 1)}
    days = [row["day"] for row in rows]
    assert found.days == (min(days), max(days))


def test_a_task_writes_what_it_keeps_once_it_is_too_much(tmp_path, monkeypatch):
    """So its memory does not grow with the topic."""
    batches = [kafka_batch([message()])] * 6
    for held_bytes, parts in ((1, 6), (tasks.HELD_BYTES, 1)):
        monkeypatch.setattr(tasks, "HELD_BYTES", held_bytes)
        (name,) = returned(tmp_path, batches).files
        for path in TaskFiles.of(str(tmp_path), name):
            assert pyarrow.parquet.read_metadata(path).num_row_groups == parts


def test_sums_have_a_row_for_each_window_and_key(tmp_path):
    rng = random.Random(7)
    sent, expected = [], {}
    for minute in range(40):
        kind, topic = rng.choice(["fetch", "produce"]), rng.choice(["a", "b", None])
        row = (kind, topic, 0, rng.randrange(2), rng.randrange(1000))
        sent.append(message(minute=minute, rows=[row, row]))
        key = (minute // 5, kind, topic, row[3])
        rows, bytes_ = expected.get(key, (0, 0))
        expected[key] = (rows + 2, bytes_ + 2 * row[4])
    _, sums = files_of(tmp_path, returned(tmp_path, [kafka_batch(sent)]))
    found = {
        (row["window_start"].minute // 5, row["kind"], row["topic"], row["broker_id"]): (
            row["rows"],
            row["bytes"],
        )
        for row in sums.to_pylist()
    }
    assert found == expected


def test_bytes_beyond_a_long_are_counted(tmp_path):
    most = message(rows=[(*ROW[:4], 2**63 - 1)] * 3)
    assert returned(tmp_path, [kafka_batch([most])]).bytes == 3 * (2**63 - 1)


def test_a_task_without_messages_has_no_files(tmp_path):
    found = returned(tmp_path, [kafka_batch([message()]).slice(0, 0)])
    assert (found.files, found.messages, found.days) == ([], 0, None)
    assert [*tmp_path.iterdir()] == []


def test_each_attempt_at_a_task_has_files_of_its_own(tmp_path):
    """What a killed attempt has written is named by no row that the driver gets."""

    def killed():
        yield kafka_batch([message("half")])
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011 (the one above)
        returned(tmp_path, killed())
    found = returned(tmp_path, [kafka_batch([message("whole")])])
    messages, _ = files_of(tmp_path, found)
    assert messages.column("emitter").to_pylist() == ["whole"]
    assert len([*tmp_path.iterdir()]) == 4
