"""Sums by key over the batches of a task, with bounded memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

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
