"""Sums by key over the batches of a task, with bounded memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rackwise.pipeline.columns import groups as module
from rackwise.pipeline.columns.groups import Groups


def test_few_groups_of_many_rows_are_few_rows(monkeypatch):
    """Also where nobody asks whether they are full, and where most of them are distinct."""
    monkeypatch.setattr(module, "MOST_GROUPS", 10)
    groups = Groups(["key"], ["rows"])

    def kept(keys):
        groups.add(pa.table({"key": keys, "rows": [1] * len(keys)}))
        return sum(part.num_rows for part in groups._parts)

    assert max(kept([1, 2, 3]) for _ in range(100)) <= 10
    assert not groups.is_full
    assert max(kept([*range(7)]) for _ in range(100)) <= 14
    assert groups.is_full
    (batch,) = groups.take()
    found = dict(zip(*batch.to_pydict().values(), strict=True))
    assert found == {key: 200 if key in {1, 2, 3} else 100 for key in range(7)}
    assert not groups.is_full


def test_a_task_with_many_keys_passes_sums_on(monkeypatch):
    """Its memory is bounded, and nothing is lost or counted twice."""
    monkeypatch.setattr(module, "MOST_GROUPS", 10)
    groups = Groups(["key"], ["rows", "first", "last"])
    rng = np.random.default_rng(3)
    keys = [rng.integers(0, most, 7) for most in (2, 2, 2, 50, 50, 50, 2)]
    found, was_full = [], []
    for number, some in enumerate(keys):
        ones = np.ones(len(some), dtype=np.int64)
        times = ones * number
        groups.add(pa.table({"key": some, "rows": ones, "first": times, "last": times}))
        was_full.append(groups.is_full)
        if was_full[-1]:
            found += groups.take()
            assert groups.take() == []
    assert was_full[:3] == [False] * 3, "few keys stay"
    assert any(was_full)
    rows = pa.Table.from_batches([*found, *groups.take()]).to_pylist()
    total, last = Counter(), {}
    for row in rows:
        total[row["key"]] += row["rows"]
        last[row["key"]] = max(last.get(row["key"], 0), row["last"])
    every = np.concatenate(keys).tolist()
    assert total == Counter(every)
    assert last == {
        key: max(number for number, some in enumerate(keys) if key in some) for key in every
    }


def test_batches_are_grouped_alone_only_while_their_keys_repeat(monkeypatch):
    monkeypatch.setattr(module, "MOST_GROUPS", 10)
    groups = Groups(["key"], ["rows"])

    def kept(*keys):
        groups.add(pa.table({"key": [*keys], "rows": [1] * len(keys)}))
        return sum(part.num_rows for part in groups._parts)

    assert kept(1, 1, 1, 2) == 2
    assert kept(1, 2, 3) == 2 + 3, "grouped, in vain"
    assert kept(1, 1, 1, 1) == 5 + 4, "not grouped"
    assert kept(1, 1) == 3, "all are grouped"
    assert kept(2, 2) == 3 + 1, "grouped alone again"


LONGS = st.none() | st.integers(-3, 3) | st.sampled_from([-(2**63), 2**62])
TEXTS = st.none() | st.sampled_from(["a", "b", ""])
SMALL = st.none() | st.integers(-2, 2)
SUMMED = st.none() | st.integers(-9, 9)
KEYS, MEASURES = ("long", "text", "small"), ("bytes", "first", "last")
SCHEMA = pa.schema(
    [("long", pa.int64()), ("text", pa.string()), ("small", pa.int32())]
    + [(name, pa.int64()) for name in MEASURES]
)


def by_key(rows):
    """What `Groups` documents, row by row."""
    found: dict = {}
    for row in rows:
        found.setdefault(row[: len(KEYS)], []).append(row[len(KEYS) :])
    work = (sum, min, max)
    return {
        key: tuple(
            one([value for value in values if value is not None] or [None])
            if any(value is not None for value in values)
            else None
            for one, values in zip(work, zip(*own, strict=True), strict=True)
        )
        for key, own in found.items()
    }


@given(st.lists(st.lists(st.tuples(LONGS, TEXTS, SMALL, SUMMED, SUMMED, SUMMED), min_size=1)))
def test_groups_are_exact_for_nulls_texts_and_all_longs(batches):
    groups = Groups(KEYS, MEASURES)
    for number, rows in enumerate(batches):
        names = zip(SCHEMA.names, zip(*rows, strict=True), strict=True)
        columns = {name: pa.array(values, SCHEMA.field(name).type) for name, values in names}
        if number % 2:
            columns["text"] = columns["text"].dictionary_encode()
        groups.add(pa.table(columns))
    found = [tuple(row.values()) for part in groups.take() for row in part.to_pylist()]
    wanted = by_key([row for rows in batches for row in rows])
    assert {row[: len(KEYS)]: row[len(KEYS) :] for row in found} == wanted
    assert len(found) == len(wanted)
    assert [row[: len(KEYS)] for row in found] == [*wanted], "in order of their first row"
