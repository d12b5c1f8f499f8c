"""Fewer changed partitions where racks are uneven: few partitions are tried for each move."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner_vectors import cluster_of
from rackwise.core.planning.plan import plan
from rackwise.core.planning.search import tie_breaking
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    import pytest

SIZES = (6, 10, 14)
"""Brokers of three racks."""


def test_partitions_whose_racks_forbid_a_move_are_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(7)
    racks = np.argsort(rng.random((3_000, 3)), axis=1)[:, :2]
    starts = np.cumsum([0, *SIZES[:-1]])
    places = (rng.random((3_000, 2)) * np.array(SIZES)[racks]).astype(np.int64)
    cluster = cluster_of(starts[racks] + places, sum(SIZES), 3)
    rack = np.repeat(np.arange(3), SIZES).tolist()
    brokers = tuple(replace(one, rack=Rack(f"/r{rack[one.id]}")) for one in cluster.brokers)
    tried = []
    can_take = tie_breaking._MoveIndex._can_take
    monkeypatch.setattr(
        tie_breaking._MoveIndex,
        "_can_take",
        lambda index, row, move: tried.append(row) or can_take(index, row, move),
    )
    made = plan(replace(cluster, brokers=brokers))
    assert made.verdict.is_proved
    assert made.totals.partitions > 500
    assert len(tried) < 2 * made.totals.partitions
