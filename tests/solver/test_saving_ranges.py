"""Savings of flows with hidden names: the truth lies in the range, and 0 is stated if it is true.

A whole set of flows has exact savings. The same flows with some topics, groups and racks hidden
give ranges. The exact saving is never above the range, and is 0 where the range says 0.
"""

from __future__ import annotations

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rackwise.core.savings import (
    ALL,
    ALONE,
    ASSIGNMENT,
    CAUSES,
    FOLLOWER_FETCH,
    LEADER_MOVES,
    PRODUCING,
    SEPARATOR,
    TOTAL,
    UNKNOWN_NAME,
)
from rackwise.core.savings.potential import TOPIC
from rackwise.core.traffic import known_sum
from small_fleets import CENT, GIB, cluster, group, price
from solver.test_savings import (
    DEMO,
    DEMO_FLOWS,
    NANO_PER_GIB,
    A,
    B,
    C,
    any_flow,
    cluster_of,
    flow,
    part,
    saved,
    scenes,
)

PRICES = (price(nano_usd_per_gb_out=CENT + 1, nano_usd_per_gb_in=CENT // 3),)
STEPS = (
    (ALONE, FOLLOWER_FETCH, None),
    (ALONE, ASSIGNMENT, None),
    (ALONE, PRODUCING, 0.1),
    (ALONE, PRODUCING, math.inf),
    (ALONE, LEADER_MOVES, None),
    (TOTAL, ALL, None),
)


@st.composite
def hidden(draw, flows):
    """The flows with some of their topics, groups and racks hidden."""
    names = {
        "topic": UNKNOWN_NAME,
        "client_group": UNKNOWN_NAME,
        "from_rack": None,
        "to_rack": None,
    }
    fields = st.sets(st.sampled_from(sorted(names)), max_size=2)
    return [one._replace(**{name: names[name] for name in draw(fields)}) for one in flows]


def ranges(found, step):
    rows = part(found.rows, *step)
    return (
        known_sum(
            (row.bytes_low for row in rows),
            is_whole=all(row.bytes_low == row.bytes_high for row in rows),
        ),
        sum(row.bytes_high for row in rows),
        known_sum(
            (row.nano_low for row in rows),
            is_whole=all(row.nano_low == row.nano_high for row in rows),
        ),
        None if any(row.nano_high is None for row in rows) else sum(r.nano_high for r in rows),
    )


class TestHidden:
    @settings(max_examples=150)
    @given(st.data(), scenes())
    def test_the_truth_is_not_above_the_range_and_0_is_true(self, data, scene):
        truth_flows = scene.flows()
        flows = data.draw(hidden(truth_flows))
        made, given_ = cluster_of(scene), {"levels": ("zone",), "prices": PRICES}
        truth, told = saved(truth_flows, made, **given_), saved(flows, made, **given_)
        for step in STEPS:
            exact = ranges(truth, step)
            low, high, nano_low, nano_high = ranges(told, step)
            assert exact[1] <= high, step
            assert nano_high is None or exact[3] <= nano_high + len(flows), step
            assert low is None or low <= high
            if step[0] == ALONE:
                assert low is None or low <= exact[1], step
                assert nano_low is None or nano_low <= exact[3] + len(flows), step
            if low == 0:
                assert exact[1] == 0, step
            if nano_low == 0:
                assert exact[3] == 0, step

    @settings(max_examples=100)
    @given(scenes(), st.lists(any_flow, max_size=12), st.booleans())
    def test_a_row_is_known_or_has_a_reason(self, scene, flows, has_keys):
        more = {} if has_keys else {"unkeyed": {}}
        found = saved(flows, cluster_of(scene), levels=("zone",), prices=PRICES, **more)
        for row in found.rows:
            is_known = row.bytes_low == row.bytes_high and row.nano_low == row.nano_high
            assert is_known or row.reasons
            assert row.bytes_low != 0 or row.bytes_high == 0
            assert row.nano_low != 0 or row.nano_high == 0
            assert row.bytes_low is None or row.bytes_low <= row.bytes_high
            assert row.nano_low is None or row.nano_high is None or row.nano_low <= row.nano_high

    @settings(max_examples=50)
    @given(scenes(), st.lists(any_flow, max_size=12))
    def test_nothing_has_dollars_without_a_price(self, scene, flows):
        assume(any(one.bytes for one in flows))
        prices = (price(level="rack"),)
        for row in saved(flows, cluster_of(scene), levels=("zone",), prices=prices).rows:
            assert row.nano_low in {None, 0}
            assert (row.nano_high == 0) == (row.bytes_high == 0 and row.nano_low == 0)


class TestLosses:
    """Bytes that a change moves without being known may cost more than the others save."""

    MADE = cluster(topics={"orders": [(2, 1), (3, 2), (1, 3)]})
    SAVES = tuple(flow("produce", *ends, 1) for ends in ((A, B), (B, C), (C, A)))

    def moves(self, size):
        local = flow("fetch", B, B, size, topic=UNKNOWN_NAME)
        (row,) = part(saved([*self.SAVES, local], self.MADE).rows, ALONE, LEADER_MOVES)
        return row

    def test_a_smaller_loss_is_subtracted(self):
        row = self.moves(1)
        assert (row.bytes_low, row.bytes_high, row.reasons) == (2 * GIB, 3 * GIB, (TOPIC,))
        assert (row.nano_low, row.nano_high) == (2 * NANO_PER_GIB, 3 * NANO_PER_GIB)

    def test_a_loss_of_everything_leaves_nothing_proved(self):
        row = self.moves(3)
        assert (row.bytes_low, row.bytes_high, row.reasons) == (None, 3 * GIB, (TOPIC,))
        assert (row.nano_low, row.nano_high) == (None, 3 * NANO_PER_GIB)

    def test_bytes_of_a_topic_that_is_gone_lose_nothing(self):
        local = flow("fetch", B, B, 3, topic="gone")
        (row,) = part(saved([*self.SAVES, local], self.MADE).rows, ALONE, LEADER_MOVES)
        assert (row.bytes_low, row.bytes_high, row.reasons) == (3 * GIB, 3 * GIB, ())

    def test_a_loss_of_all_bytes_may_leave_dollars(self):
        local = flow("fetch", B, B, 5, topic=UNKNOWN_NAME)
        free = price(kind="fetch", nano_usd_per_gb_out=0, nano_usd_per_gb_in=0)
        found = saved([*self.SAVES, local], self.MADE, prices=(price(), free))
        (row,) = part(found.rows, ALONE, LEADER_MOVES)
        assert (row.bytes_low, row.bytes_high, row.reasons) == (None, 3 * GIB, (TOPIC,))
        assert (row.nano_low, row.nano_high) == (3 * NANO_PER_GIB, 3 * NANO_PER_GIB)

    def test_it_is_divided_in_proportion_to_what_is_saved(self):
        more = [one._replace(topic="other", bytes=3 * GIB) for one in self.SAVES]
        made = cluster(topics={key: [(2, 1), (3, 2), (1, 3)] for key in ("orders", "other")})
        local = flow("fetch", B, B, 4, topic=UNKNOWN_NAME)
        rows = part(saved([*self.SAVES, *more, local], made).rows, ALONE, LEADER_MOVES)
        assert [(row.topic, row.bytes_low) for row in rows] == [
            ("orders", 2 * GIB),
            ("other", 6 * GIB),
        ]

    def test_reads_of_an_unknown_group_may_be_of_any_group(self):
        flows = [
            flow("fetch", A, B, 3),
            flow("fetch", B, A, 3),
            flow("fetch", C, C, 1)._replace(client_group=UNKNOWN_NAME),
        ]
        (row, *_) = part(saved(flows, DEMO).rows, ALONE, ASSIGNMENT)
        assert row.client_group == "readers"
        assert (row.bytes_low, row.bytes_high) == (5 * GIB, 6 * GIB)


class TestBounds:
    def test_a_client_without_a_replica_in_its_rack_reads_nothing_nearer(self):
        made = cluster({1: A, 2: B}, {"orders": [(1, 2)]})
        flows = [flow("fetch", A, C, 1, topic=UNKNOWN_NAME)]
        (row,) = part(saved(flows, made).rows, ALONE, FOLLOWER_FETCH)
        assert (row.bytes_low, row.bytes_high, row.reasons) == (0, 0, ())

    def test_replication_between_distinct_racks_cannot_be_saved(self):
        flows = [flow("replicate", A, B, 1, topic=UNKNOWN_NAME)]
        (row,) = part(saved(flows, DEMO).rows, ALONE, LEADER_MOVES)
        assert (row.bytes_low, row.bytes_high) == (0, 0)
        twice = cluster({1: A, 2: B, 3: B}, {"orders": [(1, 2, 3)]})
        (row,) = part(saved(flows, twice).rows, ALONE, LEADER_MOVES)
        assert (row.bytes_low, row.bytes_high, row.reasons) == (None, GIB, (TOPIC,))

    def test_a_byte_counts_once_in_the_total(self):
        flows = [flow("fetch", A, B, 1, topic=UNKNOWN_NAME)]
        rows = saved(flows, DEMO).rows
        for view, saving in ((ALONE, FOLLOWER_FETCH), (ALONE, ASSIGNMENT), (TOTAL, ALL)):
            (row,) = part(rows, view, saving)
            assert (row.bytes_low, row.bytes_high) == (None, GIB)
            assert (row.nano_low, row.nano_high) == (None, NANO_PER_GIB)

    def test_members_in_the_rack_of_the_client_alone_cannot_read_elsewhere(self):
        made = cluster(groups=[group("readers", ("m0", B, None, [("orders", 0)]))])
        flows = [flow("fetch", A, B, 1, topic=UNKNOWN_NAME)]
        (row,) = part(saved(flows, made).rows, ALONE, ASSIGNMENT)
        assert (row.bytes_low, row.bytes_high) == (0, 0)

    def test_a_bound_on_the_load_may_allow_more_if_other_bytes_are_produced(self):
        flows = [*DEMO_FLOWS, flow("produce", B, B, 9, topic=UNKNOWN_NAME)]
        (row,) = part(saved(flows, DEMO).rows, ALONE, PRODUCING, 0.1)
        assert (row.bytes_low, row.bytes_high) == (None, 6 * GIB)
        assert row.reasons == (TOPIC,)

    def test_all_unknown_producers_may_cross_or_not(self):
        flows = [flow("produce", None, rack, 1) for rack in (A, B, C)]
        (row,) = part(saved(flows, DEMO, prices=PRICES).rows, TOTAL, ALL)
        assert (row.bytes_low, row.bytes_high, row.nano_low) == (None, 3 * GIB, None)
        assert row.nano_high == 3 * (CENT + 1 + CENT // 3)


def test_reasons_can_be_joined_and_name_a_cure():
    for cause in CAUSES:
        assert SEPARATOR not in cause
        assert ": " in cause
