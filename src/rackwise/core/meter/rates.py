"""Bytes per second of each partition, from two snapshots.

The rate is what was written divided by the time between the two answers of the leader: sizes for
exact growth, offsets for estimates. It fills `bytes_in_per_s`, so that a plan knows what its
replicas cost per month.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.meter.reasons import Reason
from rackwise.core.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rackwise.core.meter.growth import Growth
    from rackwise.core.meter.looks import LookPair
    from rackwise.core.model import Cluster

SECOND_MS = 1000


def with_rates(pair: LookPair, written: Growth) -> Cluster:
    """The second snapshot with the rate of each partition since the first; -1 where not known.

    `written`: `growth(pair)`.
    """
    first, second = pair.first, pair.second
    of_sizes = _spans_ms(pair, first.answered.sizes, second.answered.sizes)
    of_offsets = _spans_ms(pair, first.answered.offsets, second.answered.offsets)
    is_growth = ~np.isin(written.reason, [Reason.TAIL, Reason.MEAN])
    span_ms = np.where(is_growth, of_sizes, of_offsets)
    rate = np.where(written.bytes >= 0, np.rint(written.bytes * SECOND_MS / span_ms), UNKNOWN)
    return replace(
        second, partitions=replace(second.partitions, bytes_in_per_s=rate.astype(np.int64))
    )


def _spans_ms(
    pair: LookPair, first: Mapping[int, int], second: Mapping[int, int]
) -> NDArray[np.int64]:
    """Milliseconds between the two answers of each row's leader, at least 1.

    A leader without an answer counts with the times of the snapshots.
    """
    leaders = pair.second.partitions.leader
    before = pair.earlier(pair.first.partitions.leader)
    spans = np.empty(len(leaders), dtype=np.int64)
    for earlier, later in {*zip(before.tolist(), leaders.tolist(), strict=True)}:
        span = second.get(later, pair.end_ms) - first.get(earlier, pair.start_ms)
        spans[(before == earlier) & (leaders == later)] = max(1, span)
    return spans
