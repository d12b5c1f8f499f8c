"""When the broker of an address is a guess."""

from __future__ import annotations

import numpy as np
import pytest

from rackwise.pipeline.fleet.listeners import BrokersAt, SpanColumns

SEEN = 1_000


@pytest.mark.parametrize("is_carried", [False, True])
@pytest.mark.parametrize("starts", [[], [SEEN, SEEN + 5], [SEEN - 1, SEEN], [0]])
def test_traffic_before_the_broker_was_seen_is_a_guess(starts, is_carried):
    spans = SpanColumns(
        is_carried=np.array([False, is_carried]),
        cluster=np.array([0, 1]),
        broker=np.array([0, 1]),
        rack=np.array([0, 1]),
        seen_s=np.array([0, SEEN]),
    )
    rows = BrokersAt(spans=spans, places=np.ones(len(starts), dtype=np.int64))
    found = rows.is_estimated(np.array(starts, dtype=np.int64))
    assert found.tolist() == [is_carried or start < SEEN for start in starts]
