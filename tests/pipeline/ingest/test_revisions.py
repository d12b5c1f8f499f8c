"""A higher revision replaces its window in all files, and files without revisions are not read."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from flow_rows import NOON
from rackwise.core.errors import InvalidFlows
from rackwise.pipeline.engines.local import LocalEngine
from rackwise.pipeline.ingest.files import local_files
from rackwise.pipeline.ingest.revisions import best_revisions
from rackwise.pipeline.ingest.splits import UnreadableFile, with_named_damage

START = NOON * 10**6
EMITTERS = ("e1", "e2", b"\xc3", b"\xc4", None)
"""Two of them are no UTF-8, and differ."""
FACT = {"cluster": "demo", "kind": "produce", "broker_id": 1, "bytes": 1}


def rows_of(count, *, seed):
    """Emitter, window and revision of rows: few windows, nulls, and revisions below 0."""
    draws = random.Random(seed)
    starts = (START, START + 60 * 10**6, None, -1, -(10**15))
    revisions = (None, -3, 0, 0, 1, 2, 5)
    return [tuple(map(draws.choice, (EMITTERS, starts, revisions))) for _ in range(count)]


def table_of(rows, names=("emitter", "window_start", "revision")):
    emitters, starts, revisions = zip(*rows, strict=True)
    texts = [text.encode() if isinstance(text, str) else text for text in emitters]
    columns = {
        "emitter": pa.array(texts, pa.binary()).view(pa.string()),
        "window_start": pa.array(starts, pa.timestamp("us", "UTC")),
        "revision": pa.array(revisions, pa.int32()),
        **{name: [value] * len(rows) for name, value in FACT.items()},
    }
    return pa.table({name: columns[name] for name in (*names, *FACT)})


def best_of(folder):
    return best_revisions(LocalEngine(), local_files([str(folder)]))


def are_superseded(rows):
    """By definition; rows that are malformed by their start are left out."""
    best = {}
    for emitter, start, revision in rows:
        best[emitter, start] = max(best.get((emitter, start), 0), revision or 0)
    return [
        emitter is not None and (revision or 0) < (best[emitter, start] or -9)
        for emitter, start, revision in rows
        if start is not None and start >= 0
    ]


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_superseded_by_any_file(tmp_path, seed):
    rows = rows_of(300, seed=seed)
    for number in range(3):
        part = table_of(rows[number::3])
        parquet.write_table(part, tmp_path / f"{number}.parquet", row_group_size=40)
    best = best_of(tmp_path)
    table = table_of(rows)
    batch = table.set_column(
        1, "window_start", table["window_start"].cast(pa.int64())
    ).to_batches()[0]
    found = best.are_higher(batch)
    sound = [start is not None and start >= 0 for _, start, _ in rows]
    assert found[sound].tolist() == are_superseded(rows)
    assert any(are_superseded(rows))
    assert not found[np.invert(sound)].any()


@pytest.mark.parametrize(
    "rows",
    [
        [("e1", START, None), ("e1", START, 0), ("e1", START, -2)],
        [(None, START, 3)],
        [("e1", None, 3)],
    ],
)
def test_nothing_was_sent_again(tmp_path, rows):
    parquet.write_table(table_of(rows), tmp_path / "a.parquet")
    best = best_of(tmp_path)
    assert len(best.windows) == 0
    assert not best.are_higher(table_of(rows).to_batches()[0]).any()


class TestRowGroups:
    """The page of emitters of a first row group is damaged, so that whoever reads it fails."""

    def damaged(self, path, revision, **options):
        rows = [("e" * 300, START, revision)] * 50 + [("e2", START, 4)] * 50
        options = {"compression": "none", "use_dictionary": False} | options
        parquet.write_table(table_of(rows), path, row_group_size=50, **options)
        content = path.read_bytes()
        path.write_bytes(content[:4] + b"\xff" * 40 + content[44:])

    @pytest.mark.parametrize("revision", [None, 0, -1])
    def test_one_without_revisions_above_0_is_not_read(self, tmp_path, revision):
        self.damaged(tmp_path / "a.parquet", revision)
        best = best_of(tmp_path)
        assert (best.emitters, best.revisions.tolist()) == ({b"e2": 0}, [4])

    @pytest.mark.parametrize(("revision", "options"), [(1, {}), (0, {"write_statistics": False})])
    def test_others_are(self, tmp_path, revision, options):
        self.damaged(tmp_path / "a.parquet", revision, **options)
        damaged_one = pytest.raises(InvalidFlows, match="got a damaged one")
        with damaged_one, with_named_damage(UnreadableFile):
            best_of(tmp_path)

    def test_a_file_without_the_columns_is_not_read(self, tmp_path):
        rows = [("e1", START, 1)]
        for name in ("emitter", "revision"):
            rest = [each for each in ("emitter", "window_start", "revision") if each != name]
            parquet.write_table(table_of(rows, rest), tmp_path / f"{name}.parquet")
        assert len(best_of(tmp_path).windows) == 0
