"""Savings alone and as a waterfall: vectors, laws, and a naive computation by partition."""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import date, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_savings as naive
from naive_savings import Scene
from rackwise.core.errors import InvalidPrices, MissingDependency, OptimumTooLarge, SplitError
from rackwise.core.model import Configs
from rackwise.core.planning.leaders import by_flow as leader_flow
from rackwise.core.racks import Rack, crossing_level
from rackwise.core.savings import (
    ALL,
    ALONE,
    ASSIGNMENT,
    CONDITIONS,
    FOLLOWER_FETCH,
    LEADER_MOVES,
    NOTHING,
    PRODUCING,
    SAVINGS,
    STOCK,
    TOTAL,
    WATERFALL,
    Layout,
)
from rackwise.core.savings.potential import (
    ABSENT,
    BROKER_ASSIGNS,
    GROUP,
    KEYS,
    MEMBER_RACK,
    MEMBERS,
    MOVED,
    NO_CHOICE,
    PRICE,
    RACK,
    TOPIC,
)
from rackwise.core.savings.traffic import chunks
from rackwise.core.savings.waterfall import cluster as cluster_savings
from rackwise.core.traffic import known_sum, usd_nano
from saving_flows import Flow, all_savings
from small_fleets import CENT, DAY, DEMO_READERS, GIB, cluster, group, price

A, B, C = "/eu/a", "/eu/b", "/eu/c"
LEVELS = ("region", "zone")
NANO_PER_GIB = 2 * CENT
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def layout_of(made):
    return Layout.of(made, lambda _, member: member.rack)


def flow(kind, from_, to, gib, *, topic="orders", day=DAY, bytes_=None):
    """A flow in GiB; the group `readers` fetches."""
    who = "readers" if kind == "fetch" else "(unknown)"
    size = int(gib * GIB) if bytes_ is None else bytes_
    return Flow(day, kind, topic, who, "measured", from_, to, size)


DEMO = cluster(groups=[DEMO_READERS])
DEMO_FLOWS = [
    *(flow("produce", A, rack, 3) for rack in (A, B, C)),
    *(flow("fetch", *ends, 3) for ends in ((A, B), (B, A), (C, C))),
    *(flow("replicate", *ends, 3) for ends in ((A, B), (B, C), (C, A))),
]


NO_KEYS = {"orders": 1.0, "other": 1.0, "gone": 1.0} | {f"t{n}": 1.0 for n in range(60)}
"""No record has a key, so that the saving of producing is proved."""


def saved(flows, made, **more):
    given = {"prices": (price(),), "levels": LEVELS, "unkeyed": NO_KEYS} | more
    return all_savings(flows, layout_of(made), **given)


def part(rows, view, saving, eps=None):
    found = [row for row in rows if (row.view, row.saving, row.eps) == (view, saving, eps)]
    assert found, (view, saving, eps)
    return found


def step(rows, view, saving, eps=None):
    """Greatest bytes and nano-dollars of one step: the least, unless a row has a reason."""
    found = part(rows, view, saving, eps)
    for row in found:
        assert row.reasons or (row.bytes_low, row.nano_low) == (row.bytes_high, row.nano_high)
    return sum(row.bytes_high for row in found), sum(row.nano_high or 0 for row in found)


def low(rows, view, saving, eps=None):
    """Least bytes and nano-dollars of one step."""
    found = part(rows, view, saving, eps)
    return known_sum(row.bytes_low for row in found), known_sum(row.nano_low for row in found)


def causes(rows, view, saving):
    return {
        reason for row in rows if (row.view, row.saving) == (view, saving) for reason in row.reasons
    }


def conditions(rows, view, saving):
    return {row.condition for row in rows if (row.view, row.saving) == (view, saving)}


def with_selector(made):
    brokers = {broker.id: {"replica.selector.class": SELECTOR} for broker in made.brokers}
    return replace(made, configs=Configs(brokers=brokers))


class TestDemo:
    def test_the_waterfall(self):
        made = saved(DEMO_FLOWS, DEMO)
        gib = NANO_PER_GIB
        assert step(made.rows, ALONE, FOLLOWER_FETCH) == (3 * GIB, 3 * gib)
        assert step(made.rows, WATERFALL, FOLLOWER_FETCH) == (3 * GIB, 3 * gib)
        assert step(made.rows, WATERFALL, ASSIGNMENT) == (3 * GIB, 3 * gib)
        assert step(made.rows, WATERFALL, PRODUCING, 0.1) == (3 * GIB // 10, 3 * gib // 10)
        assert step(made.rows, ALONE, PRODUCING, math.inf) == (6 * GIB, 6 * gib)
        assert step(made.rows, ALONE, LEADER_MOVES) == (0, 0)
        assert step(made.rows, WATERFALL, LEADER_MOVES) == (0, 0)
        assert (made.today.cross, made.today.nano) == (21 * GIB, 420_000_000)
        assert (made.left.cross, made.left.nano) == (15 * GIB - 3 * GIB // 10, 294_000_000)
        assert step(made.rows, TOTAL, ALL) == (6 * GIB + 3 * GIB // 10, 126_000_000)

    @pytest.mark.parametrize(
        ("eps", "share", "factor"),
        [(0, 1 / 3, 1), (0.05, 0.35, 1.05), (0.1, 1.1 / 3, 1.1), (0.2, 0.4, 1.2), (math.inf, 1, 3)],
    )
    def test_producing_by_bound(self, eps, share, factor):
        rows = saved(DEMO_FLOWS, DEMO).rows
        (row,) = (row for row in rows if (row.view, row.eps) == (ALONE, eps))
        assert (3 * GIB + row.bytes_high) / (9 * GIB) == pytest.approx(share, abs=1e-9)
        assert row.load_factor == pytest.approx(factor)

    def test_leaders_of_rotated_lists_move_to_their_producers(self):
        rotated = cluster(topics={"orders": [(2, 1), (3, 2), (1, 3)]})
        flows = [flow("produce", *ends, 1) for ends in ((A, B), (B, C), (C, A))]
        made = saved(flows, rotated)
        assert step(made.rows, ALONE, LEADER_MOVES) == (3 * GIB, 3 * NANO_PER_GIB)

    def test_required_changes_are_listed(self):
        rows = saved(DEMO_FLOWS, DEMO).rows
        for saving in (FOLLOWER_FETCH, ASSIGNMENT, PRODUCING):
            assert conditions(rows, WATERFALL, saving) == {CONDITIONS[saving]}
        assert conditions(rows, WATERFALL, LEADER_MOVES) == {NOTHING}

    def test_bytes_of_unknown_topics_are_reported_if_a_saving_moves_nothing(self):
        flows = [flow("fetch", A, B, 0, topic="(unknown)", bytes_=7), flow("produce", A, B, 1)]
        rows = saved(flows, DEMO).rows
        assert causes(rows, ALONE, FOLLOWER_FETCH) == {TOPIC}
        (row,) = part(rows, ALONE, FOLLOWER_FETCH)
        assert (row.bytes_low, row.bytes_high, row.nano_low) == (None, 7, None)
        assert conditions(rows, ALONE, PRODUCING) == {CONDITIONS[PRODUCING]}
        local = [flow("fetch", A, A, 0, topic="(unknown)", bytes_=7)]
        assert conditions(saved(local, DEMO).rows, ALONE, FOLLOWER_FETCH) == {NOTHING}

    def test_every_saving_has_a_row_in_both_views(self):
        for flows in ([], DEMO_FLOWS):
            rows = saved(flows, DEMO).rows
            for view in (ALONE, WATERFALL):
                assert {row.saving for row in rows if row.view == view} == set(SAVINGS)

    @pytest.mark.parametrize(
        ("eps", "used"),
        [
            ((0.0, 0.1, 0.5, math.inf), 0.1),
            ((0.3, 0.2), 0.3),
            ((0.2, math.inf), 0.2),
            ((math.inf,), math.inf),
        ],
    )
    def test_the_waterfall_has_the_usual_bound_and_no_bound_stands_beside_it(self, eps, used):
        rows = saved(DEMO_FLOWS, DEMO, eps=eps).rows
        bounds = {
            view: {row.eps for row in rows if (row.saving, row.view) == (PRODUCING, view)}
            for view in (ALONE, WATERFALL)
        }
        assert bounds == {ALONE: {*eps, math.inf}, WATERFALL: {used}}
        (unbounded,) = part(rows, ALONE, PRODUCING, math.inf)
        assert unbounded.load_factor == pytest.approx(3)


class TestFollowerFetch:
    def test_brokers_with_the_selector_have_nothing_left_to_save(self):
        flows = [flow("fetch", B, B, 3), flow("fetch", B, A, 3), flow("fetch", C, C, 3)]
        made = saved(flows, with_selector(DEMO))
        assert step(made.rows, ALONE, FOLLOWER_FETCH) == (0, 0)

    def test_a_replica_in_the_same_region_is_not_in_the_same_rack(self):
        made = cluster({1: "/us/a", 2: "/eu/b"}, {"orders": [(1, 2)]})
        rows = saved([flow("fetch", "/us/a", A, 1)], made, prices=(price(level="region"),)).rows
        assert step(rows, ALONE, FOLLOWER_FETCH) == (0, 0)

    def test_a_reader_without_rack_stays(self):
        rows = saved([flow("fetch", A, None, 1)], DEMO).rows
        assert causes(rows, ALONE, FOLLOWER_FETCH) == {RACK}
        assert low(rows, ALONE, FOLLOWER_FETCH) == (None, None)
        assert part(rows, ALONE, FOLLOWER_FETCH)[0].bytes_high == GIB

    def test_flows_of_0_bytes_change_nothing(self):
        flows = [flow("fetch", A, None, 1)]
        none = [flow("fetch", "/us/a", B, 0), flow("produce", A, "/us/a", 0, topic="other")]
        assert saved([*flows, *none], DEMO) == saved(flows, DEMO)

    def test_cheaper_far_followers_are_kept(self):
        made = cluster({1: "/us/a", 2: "/eu/b"}, {"orders": [(1, 2)]})
        rows = saved(
            [flow("fetch", "/eu/b", A, 1)],
            made,
            prices=(price(), price(level="region", nano_usd_per_gb_out=5 * CENT)),
        ).rows
        assert conditions(rows, ALONE, FOLLOWER_FETCH) == {
            "not applied: it would cost 0.040000000 USD"
        }


class TestAssignment:
    def test_stock_assignor_is_compared_with_the_best(self):
        racks = {1: "a", 2: "b", 3: "c"}
        members = [(f"m{i}", rack, None, [("orders", i)]) for i, rack in enumerate("aab")]
        made = cluster(racks, {"orders": [(2,), (1,), (1,)]}, groups=[group("readers", *members)])
        flows = [flow("fetch", "b", "a", 1), flow("fetch", "a", "a", 1), flow("fetch", "a", "b", 1)]
        rows = saved(flows, made, levels=("zone",)).rows
        assert step(rows, WATERFALL, ASSIGNMENT) == (2 * GIB, 2 * NANO_PER_GIB)
        best, usual = (step(rows, view, ASSIGNMENT)[0] for view in (WATERFALL, STOCK))
        assert usual <= best

    def test_equal_partitions_are_distributed_over_members(self):
        members = [("m0", "a", None, [("orders", 0)]), ("m1", "b", None, [("orders", 1)])]
        topics = {"orders": [(1,), (1,), (1,)]}
        made = cluster({1: "a", 2: "b"}, topics, groups=[group("readers", *members)])
        rows = saved([flow("fetch", "a", "b", 3)], made, levels=("zone",)).rows
        assert step(rows, ALONE, ASSIGNMENT)[0] == 2 * GIB

    def test_step_without_solver_saves_nothing_and_gives_the_reason(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ortools.graph.python", None)
        made = saved(DEMO_FLOWS, DEMO)
        assert step(made.rows, WATERFALL, FOLLOWER_FETCH) == (3 * GIB, 3 * NANO_PER_GIB)
        assert low(made.rows, WATERFALL, ASSIGNMENT) == (None, None)
        assert step(made.rows, WATERFALL, ASSIGNMENT) == (3 * GIB, 3 * NANO_PER_GIB)
        (told,) = causes(made.rows, WATERFALL, ASSIGNMENT)
        assert "ortools is not installed, plans and optimal assignments require it: " in told

    def test_group_without_known_members(self):
        rows = saved([flow("fetch", A, B, 1)], cluster()).rows
        assert causes(rows, ALONE, ASSIGNMENT) == {MEMBERS}
        assert step(rows, ALONE, ASSIGNMENT) == (GIB, NANO_PER_GIB)
        assert low(rows, ALONE, ASSIGNMENT) == (None, None)
        unknown = [flow("fetch", A, B, 1)._replace(client_group="(unknown)")]
        assert causes(saved(unknown, cluster()).rows, ALONE, ASSIGNMENT) == {GROUP}
        local = saved([flow("fetch", A, A, 1)], cluster()).rows
        assert part(local, ALONE, ASSIGNMENT)[0].bytes_low == 0

    def test_broker_assigns_groups_of_the_consumer_protocol(self):
        modern = replace(DEMO_READERS, protocol="consumer")
        rows = saved(DEMO_FLOWS, cluster(groups=[modern])).rows
        assert step(rows, WATERFALL, ASSIGNMENT)[0] == 3 * GIB
        assert causes(rows, STOCK, ASSIGNMENT) == {BROKER_ASSIGNS}

    @pytest.mark.parametrize("protocol", ["share", "streams"])
    def test_nobody_can_choose_the_assignment_of_share_and_streams_groups(self, protocol):
        rows = saved(DEMO_FLOWS, cluster(groups=[replace(DEMO_READERS, protocol=protocol)])).rows
        assert causes(rows, ALONE, ASSIGNMENT) == {NO_CHOICE}
        assert low(rows, ALONE, ASSIGNMENT) == (None, None)

    def test_member_without_rack_reads_as_before(self):
        readers = group("readers", ("m0", None, None, [("orders", n) for n in range(3)]))
        rows = saved(DEMO_FLOWS, cluster(groups=[readers])).rows
        assert causes(rows, ALONE, ASSIGNMENT) == {MEMBER_RACK}
        assert low(rows, ALONE, ASSIGNMENT) == (None, None)
        assert step(rows, ALONE, ASSIGNMENT) == (6 * GIB, 6 * NANO_PER_GIB)

    def test_member_without_rack_reads_from_the_same_follower_as_before(self):
        readers = group("readers", ("m0", None, None, [("orders", 0)]))
        made = with_selector(cluster(topics={"orders": [(1, 2)]}, groups=[readers]))
        rows = saved([flow("fetch", B, B, 1)], made).rows
        assert conditions(rows, ALONE, ASSIGNMENT) == {NOTHING}

    def test_missing_solver_is_reported(self, monkeypatch):
        from rackwise.core import solver
        from rackwise.core.assignors.optimal import assign as optimal

        def missing():
            raise MissingDependency("expected ortools", wanted="ortools", had=None)

        assert solver.require_solver
        monkeypatch.setattr(optimal, "require_solver", missing)
        rows = saved(DEMO_FLOWS, DEMO).rows
        assert causes(rows, ALONE, ASSIGNMENT) == {"expected ortools"}

    def test_partitions_without_leader_or_reader_are_ignored(self):
        made = cluster(
            topics={"orders": [(1, 2), (), (3, 1)], "other": [(1,)]}, groups=[DEMO_READERS]
        )
        flows = [
            flow("fetch", A, B, 1),
            flow("fetch", C, C, 1),
            flow("fetch", A, B, 1, topic="other"),
        ]
        made = saved(flows, made)
        assert made.left.cross == GIB
        gone = saved([flow("fetch", A, B, 1, topic="gone"), flow("fetch", B, A, 1)], DEMO).rows
        assert causes(gone, ALONE, FOLLOWER_FETCH) == {ABSENT}
        moved = saved([flow("fetch", B, A, 1)], cluster(topics={"orders": [(1, 2), (1, 3)]})).rows
        assert causes(moved, ALONE, LEADER_MOVES) == set()
        moved = saved([flow("fetch", C, A, 1)], cluster(topics={"orders": [(1, 2)]})).rows
        assert causes(moved, ALONE, LEADER_MOVES) == {MOVED}


class TestProducing:
    def test_records_with_a_key_stay(self):
        rows = saved(DEMO_FLOWS, DEMO, unkeyed={"orders": 0.5}).rows
        assert step(rows, ALONE, PRODUCING, math.inf)[0] == 3 * GIB

    def test_clients_of_a_rack_without_leaders_stay(self):
        made = cluster({1: A, 2: B}, {"orders": [(1,), (2,)]})
        rows = saved([flow("produce", C, A, 2), flow("produce", B, A, 1)], made).rows
        assert step(rows, ALONE, PRODUCING, math.inf)[0] == GIB

    def test_leaders_without_rack_are_ignored(self):
        made = cluster({1: None, 2: A, 3: B}, {"orders": [(1, 2), (2,), (3,)]})
        rows = saved([flow("produce", A, B, 2), flow("produce", A, None, 1)], made).rows
        assert low(rows, ALONE, PRODUCING, math.inf)[0] == 2 * GIB
        assert step(rows, ALONE, PRODUCING, math.inf)[0] == 3 * GIB
        assert causes(rows, ALONE, PRODUCING) == {RACK}

    def test_without_the_share_of_keys_a_saving_is_not_proved(self):
        rows = saved(DEMO_FLOWS, DEMO, unkeyed={}).rows
        assert low(rows, ALONE, PRODUCING, math.inf) == (None, None)
        assert step(rows, ALONE, PRODUCING, math.inf) == (6 * GIB, 6 * NANO_PER_GIB)
        assert causes(rows, ALONE, PRODUCING) == {KEYS}
        (total,) = part(rows, TOTAL, ALL)
        assert (total.bytes_low, total.bytes_high) == (6 * GIB, 6 * GIB + 3 * GIB // 10)
        even = saved([flow("produce", rack, rack, 1) for rack in (A, B, C)], DEMO, unkeyed={}).rows
        assert low(even, ALONE, PRODUCING, math.inf) == (0, 0)

    def test_bound_tighter_than_today_is_not_used(self):
        flows = [flow("produce", A, A, 9)]
        rows = saved(flows, DEMO, eps=(0.1,)).rows
        (row,) = part(rows, ALONE, PRODUCING, 0.1)
        assert row.condition.startswith("not applied: it would cost 0.11")
        assert step(rows, WATERFALL, PRODUCING, 0.1) == (0, 0)

    def test_racks_of_different_depths_stay(self):
        made = cluster({1: A, 2: "/eu/b/r1"}, {"orders": [(1,), (2,)]})
        rows = saved([flow("produce", A, "/eu/b/r1", 1)], made).rows
        assert conditions(rows, ALONE, PRODUCING) == {NOTHING}

    @pytest.mark.parametrize("more", [{"eps": (-1.0,)}, {"unkeyed": {"orders": 1.5}}])
    def test_invalid_bounds_and_shares_are_rejected(self, more):
        with pytest.raises(SplitError):
            saved(DEMO_FLOWS, DEMO, **more)


class TestLeaderMoves:
    def test_even_leaders_that_cost_more_are_not_chosen(self):
        made = cluster(topics={"orders": [(1, 2), (1, 2)]})
        rows = saved([flow("produce", A, A, 2)], made).rows
        assert conditions(rows, ALONE, LEADER_MOVES) == {
            "not applied: it would cost 0.020000000 USD"
        }

    def test_broker_dead_or_without_rack_leads_nothing(self):
        flows = [flow("produce", A, B, 1)]
        made = cluster({1: A, 2: B, 3: None}, {"orders": [(2, 1, 3)]})
        assert step(saved(flows, made).rows, ALONE, LEADER_MOVES)[0] == GIB
        brokers = tuple(replace(one, is_live=one.id != 1) for one in made.brokers)
        rows = saved(flows, replace(made, brokers=brokers)).rows
        assert conditions(rows, ALONE, LEADER_MOVES) == {NOTHING}

    def test_bytes_decide_without_prices(self):
        rotated = cluster(topics={"orders": [(2, 1), (3, 2), (1, 3)]})
        flows = [flow("produce", *ends, 1) for ends in ((A, B), (B, C), (C, A))]
        rows = saved(flows, rotated, prices=(price(level="rack"),)).rows
        assert step(rows, ALONE, LEADER_MOVES) == (3 * GIB, 0)
        assert {row.nano_low for row in rows if row.bytes_high} == {None}
        assert {row.nano_high for row in rows if row.bytes_high} == {None}
        assert PRICE in causes(rows, ALONE, LEADER_MOVES)

    @pytest.mark.parametrize(
        "error", [MissingDependency, OptimumTooLarge], ids=["no solver", "too large for it"]
    )
    def test_saving_without_flow_is_unknown(self, monkeypatch, error):
        def unavailable(_network):
            raise error("expected a flow", wanted="a flow", had=None)

        rng = Random(5)
        sets = [tuple(rng.sample((1, 2, 3), 2)) for _ in range(60)]
        made = cluster(topics={f"t{n}": [one] for n, one in enumerate(sets)})
        flows = [
            flow("produce", rack, "/eu/" + "abc"[one[0] - 1], rng.random(), topic=f"t{n}")
            for n, one in enumerate(sets)
            for rack in (A, B, C)
        ]
        by_flow = step(saved(flows, made).rows, ALONE, LEADER_MOVES)
        monkeypatch.setattr(leader_flow, "cheapest_flow", unavailable)
        assert by_flow[1] > 0
        rows = saved(flows, made).rows
        assert low(rows, ALONE, LEADER_MOVES) == (None, None)
        assert step(rows, ALONE, LEADER_MOVES)[1] >= by_flow[1]
        assert causes(rows, ALONE, LEADER_MOVES) == {"expected a flow"}
        assert causes(rows, WATERFALL, LEADER_MOVES) == {"expected a flow"}

    def test_free_bytes_do_not_start_to_cross(self):
        made = cluster(topics={"orders": [(1, 2), (1, 2)]})
        flows = [flow("produce", A, A, 2), flow("fetch", A, B, 0.5)]
        rows = saved(
            flows,
            made,
            prices=(
                price(kind="fetch"),
                price(kind="produce", nano_usd_per_gb_out=0, nano_usd_per_gb_in=0),
            ),
        ).rows
        assert step(rows, ALONE, LEADER_MOVES)[1] >= 0

    def test_bytes_do_not_move_to_unpriced_levels(self):
        made = cluster({1: A, 2: "/us/a"}, {"orders": [(1, 2)]})
        flows = [flow("produce", B, A, 1), flow("fetch", A, "/us/a", 0.5)]
        rows = saved(flows, made).rows
        (reason,) = conditions(rows, ALONE, LEADER_MOVES)
        assert reason == f"not applied: {GIB // 2} bytes would cross where no price is known"

    def test_day_without_price_is_rejected(self):
        old = price(valid_to=date(2026, 6, 1))
        with pytest.raises(InvalidPrices):
            saved(DEMO_FLOWS, DEMO, prices=(old,))

    def test_prices_of_regions(self):
        made = cluster({1: "/us/a", 2: "/us/b"}, {"orders": [(1, 2)]})
        prices = (price(), price(region="us", nano_usd_per_gb_out=3 * CENT))
        made = saved([flow("fetch", "/us/a", "/us/b", 1)], made, prices=prices)
        assert made.today.nano == 4 * CENT

    def test_expensive_day_does_not_overflow(self):
        flows = [flow("produce", B, A, 2**22)]
        made = saved(flows, cluster(topics={"orders": [(1, 2)]}))
        assert step(made.rows, ALONE, LEADER_MOVES)[1] == 2**22 * NANO_PER_GIB


names = ("a", "b", "c")
bytes_of = st.fixed_dictionaries({rack: st.integers(0, 9).map(lambda n: n * GIB) for rack in names})


@st.composite
def scenes(draw):
    brokers = draw(st.integers(2, 4))
    rack = {id_: draw(st.sampled_from(names)) for id_ in range(1, brokers + 1)}
    lists = st.lists(st.sampled_from(sorted(rack)), min_size=1, max_size=3, unique=True)
    return Scene(
        rack=rack,
        replicas=draw(st.lists(lists, min_size=1, max_size=5)),
        produced={name: draw(bytes_of) for name in names},
        fetched=draw(bytes_of),
        copied={name: draw(st.integers(0, 9)) * GIB for name in names},
        members=tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))),
        follows=draw(st.booleans()),
    )


def cluster_of(scene):
    members = [(f"m{i}", rack, None, []) for i, rack in enumerate(scene.members)]
    readers = group("readers", *members)
    readers = replace(
        readers, members=tuple(replace(one, topics=("orders",)) for one in readers.members)
    )
    made = cluster(scene.rack, {"orders": scene.replicas}, groups=[readers])
    return with_selector(made) if scene.follows else made


class TestNaive:
    """Each saving alone, and fetching in the waterfall, compared with loops over partitions."""

    @settings(max_examples=60)
    @given(scenes())
    def test_savings_equal_plain_loops(self, scene):
        rows = saved(
            scene.flows(), cluster_of(scene), levels=("zone",), eps=(0.0, 0.1, math.inf)
        ).rows
        today = naive.fetch_crossing(scene, follows=scene.follows)
        left = naive.fetch_crossing(scene, follows=True)
        best = naive.assignment(scene, today=today, follows=scene.follows)
        then = naive.assignment(scene, today=left, follows=True)
        assert step(rows, ALONE, FOLLOWER_FETCH)[0] == naive.follower_fetch(scene)
        assert step(rows, ALONE, ASSIGNMENT)[0] == best
        assert step(rows, WATERFALL, ASSIGNMENT)[0] == then
        assert step(rows, ALONE, LEADER_MOVES)[0] == naive.leader_moves(scene)
        for eps in (0.0, 0.1, math.inf):
            found = step(rows, ALONE, PRODUCING, eps)[0]
            assert found == pytest.approx(naive.producing(scene, eps), rel=1e-9, abs=64)


def cost_of(flows, prices):
    """The bill of flows, row by row."""
    sums = Counter()
    for one in flows:
        sums[one[:-1]] += one.bytes
    return sum(
        usd_nano(bytes_, prices[0].nano_usd_per_gb_out, GIB)
        + usd_nano(bytes_, prices[0].nano_usd_per_gb_in, GIB)
        for (*_, from_, to), bytes_ in sums.items()
        if from_ and to and crossing_level(Rack(from_), Rack(to)) > 0
    )


odd = st.integers(0, 2**40)
ends = st.sampled_from([*names, "d", None])
any_flow = st.builds(
    Flow,
    st.sampled_from([DAY, DAY + timedelta(days=1)]),
    st.sampled_from(["produce", "fetch", "replicate", "other"]),
    st.sampled_from(["orders", "gone"]),
    st.sampled_from(["readers", "others"]),
    st.sampled_from(["measured", "apportioned"]),
    ends,
    ends,
    odd,
)


class TestLaws:
    @settings(max_examples=60)
    @given(scenes(), st.lists(any_flow, max_size=12))
    def test_steps_add_up_exactly_and_none_costs_money(self, scene, flows):
        prices = (price(nano_usd_per_gb_out=CENT + 1, nano_usd_per_gb_in=CENT // 3),)
        made = saved(flows, cluster_of(scene), levels=("zone",), prices=prices)
        assert made.today.nano == cost_of(flows, prices)
        waterfall = [row for row in made.rows if row.view == WATERFALL]
        saved_ = made.today.minus(made.left)
        assert sum(row.nano_low or 0 for row in waterfall) <= saved_.nano
        assert sum(row.bytes_low or 0 for row in waterfall) <= saved_.cross
        if not any(row.reasons for row in waterfall):
            assert sum(row.nano_low for row in waterfall) == saved_.nano
            assert sum(row.bytes_low for row in waterfall) == saved_.cross
        steps = defaultdict(int)
        for row in made.rows:
            steps[row.view, row.saving, row.eps] += row.nano_low or 0
        assert min(steps.values()) >= 0

    @settings(max_examples=60)
    @given(scenes())
    def test_savings_of_known_bytes_are_exact_and_add_up(self, scene):
        made = saved(scene.flows(), cluster_of(scene), levels=("zone",))
        rows = [row for row in made.rows if row.view == WATERFALL]
        (total,) = part(made.rows, TOTAL, ALL)
        whole = made.today.minus(made.left)
        assert not any(row.reasons for row in made.rows)
        assert (total.bytes_low, total.nano_low) == (whole.cross, whole.nano)
        assert (total.bytes_high, total.nano_high) == (whole.cross, whole.nano)
        assert sum(row.bytes_low for row in rows) == whole.cross
        assert sum(row.nano_low for row in rows) == whole.nano

    @settings(max_examples=20)
    @given(scenes(), st.lists(any_flow, max_size=12), st.integers(1, 4))
    def test_neither_chunks_nor_the_type_of_columns_change_savings(self, scene, flows, size):
        made, given_ = cluster_of(scene), {"levels": ("zone",), "unkeyed": {"orders": 0.3}}
        every = [*scene.flows(), *flows]
        wanted = saved(every, made, **given_)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(chunks, "CHUNK", size)
            assert saved(every, made, **given_) == wanted
            patched.setattr(cluster_savings, "exact_dtype", lambda _most: object)
            assert saved(every, made, **given_) == wanted

    @settings(max_examples=20)
    @given(scenes(), st.integers(1, 3))
    def test_bytes_beyond_63_bits_are_exact(self, scene, times):
        made, given_ = cluster_of(scene), {"levels": ("zone",), "eps": (math.inf,)}
        given_ |= {"prices": (price(gb_bytes=GIB),)}
        flows = [one for one in scene.flows() if one.kind != "produce"]
        small = saved(flows, made, **given_)
        factor = times * 2**70
        large = saved(
            [one._replace(bytes=one.bytes * factor) for one in flows],
            made,
            **given_ | {"prices": (price(gb_bytes=GIB * factor),)},
        )
        for one, other in zip(small.rows, large.rows, strict=True):
            if one.saving in {FOLLOWER_FETCH, ASSIGNMENT}:
                assert one.bytes_high * factor == other.bytes_high
                assert one.nano_high == other.nano_high
        assert small.today.cross * factor == large.today.cross

    def test_order_of_flows_does_not_change_the_cause_of_a_doubt(self):
        flows = [*DEMO_FLOWS, flow("produce", None, A, 1), flow("produce", "/eu/d", "/eu/d", 1)]
        made = cluster(topics={"orders": [(1, 2), (2, 3)]}, groups=[DEMO_READERS])
        orders = [flows, flows[::-1], [*flows[:-2], *flows[:-3:-1]]]
        first, *others = [saved(order, made) for order in orders]
        assert all(other == first for other in others)
        assert causes(first.rows, ALONE, PRODUCING) == {RACK, MOVED}

    @pytest.mark.parametrize("size", [1, 99])
    def test_a_doubt_with_several_causes_has_the_first(self, monkeypatch, size):
        monkeypatch.setattr(chunks, "CHUNK", size)
        others = [flow("produce", None, A, 1), flow("produce", "/eu/d", "/eu/d", 1)]
        flows = [*DEMO_FLOWS, *(one._replace(client_group="others") for one in others)]
        found = part(saved(flows, DEMO).rows, ALONE, PRODUCING, 0.1)
        assert {row.client_group: row.reasons for row in found} == dict.fromkeys(
            ("(unknown)", "others"), (RACK,)
        )

    @settings(max_examples=20)
    @given(scenes(), st.lists(any_flow, max_size=12))
    def test_order_of_flows_does_not_change_savings(self, scene, flows):
        made = [saved(order, cluster_of(scene), levels=("zone",)) for order in (flows, flows[::-1])]
        assert made[0] == made[1]
