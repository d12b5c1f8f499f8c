"""Totals are the sums of the moves, unknown values are counted, and the plan is proved."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from checked_plans import check
from planner_vectors import CENTS
from planning_problems import check_planned, problems
from rackwise.core.errors import Infeasible
from rackwise.core.planning.model import Balance, Leaders, Repair
from rackwise.core.planning.outcome import monthly
from rackwise.core.planning.outcome.totals import fewest_touched
from rackwise.core.planning.plan import plan
from rackwise.core.planning.proof.applied import apply_plan
from rackwise.core.planning.proof.bound import prices_of_certificate
from rackwise.core.planning.what_if import LoseBroker, what_if
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy
from rackwise.core.racks import crossing_level
from rackwise.core.traffic import usd_nano
from rackwise.core.view import View
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/a", 4: "/b", 5: "/c"}
PRICES = CENTS
PRICE = PRICES[0]
DAY_S = 86_400


@st.composite
def cases(draw):
    lists = {
        f"t-{number}": draw(st.permutations(sorted(RACKS)))[: draw(st.integers(1, 3))]
        for number in range(draw(st.integers(0, 6)))
    }
    sizes = {name: draw(st.sampled_from([None, 0, 1, 10**9, 10**12])) for name in lists}
    cluster = small_cluster(RACKS, lists, sizes=sizes)
    rates = [draw(st.sampled_from([-1, 0, 7, 10**6])) for _ in lists]
    table = replace(cluster.partitions, bytes_in_per_s=np.array(rates, dtype=np.int64))
    cluster = replace(cluster, partitions=table)
    if draw(st.booleans()):
        cluster = what_if(cluster, LoseBroker(draw(st.sampled_from(sorted(RACKS)))))
    policy = Policy(
        brokers=BrokerPolicy(
            no_lead=draw(st.sampled_from([(), (1,), (2, 5)])),
            weights=draw(st.sampled_from([{}, {1: 2}, {2: 3, 5: 2}])),
        ),
        balance=BalancePolicy(failover=draw(st.booleans())),
    )
    return cluster, policy, draw(st.sampled_from([Balance(), Repair(), Leaders()]))


def lists_after(cluster, made):
    """Lists of all partitions before and after, in canonical order."""
    table = cluster.partitions
    before = {table.name(row): table.placed.row(row) for row in range(len(table))}
    after = before | {f"{move.topic}-{move.partition}": move.after for move in made.moves}
    return before, after


def check_totals(case, made):
    totals, moves = made.totals, made.moves
    assert totals.moves == sum(len(move.added) for move in moves)
    assert totals.bytes == sum((move.bytes or 0) * len(move.added) for move in moves)
    assert totals.unknown_sizes == sum(1 for move in moves if move.added and move.bytes is None)
    assert totals.usd_nano == sum(move.usd_nano or 0 for move in moves)
    assert totals.cross_bytes == sum(move.cross_bytes or 0 for move in moves)
    assert totals.order_only == sum(1 for move in moves if set(move.before) == set(move.after))
    assert totals.leader_changes == sum(1 for move in moves if move.before[0] != move.after[0])
    assert made.hypothetical == (case[0].source == "suppose")


def check_dollars(case, made):
    cluster = case[0]
    racks = {broker.id: broker.rack for broker in cluster.brokers}
    leaders = {(row.topic, row.partition): row.leader for row in cluster.partitions}
    for move in made.moves:
        source = leaders[move.topic, move.partition]
        if move.bytes is None or source is None:
            assert (move.usd_nano is None) == bool(move.added)
            continue
        crossing = [b for b in move.added if crossing_level(racks[source], racks[b])]
        one_way = usd_nano(move.bytes, PRICE.nano_usd_per_gb_out, PRICE.gb_bytes)
        assert move.usd_nano == 2 * one_way * len(crossing)
        assert move.cross_bytes == move.bytes * len(crossing)


def check_loads(case, made):
    before, after = lists_after(case[0], made)
    loads = Counter(b for row in before.values() for b in row)
    for move in made.moves:
        loads.update(move.added)
        loads.subtract(move.removed)
    assert +loads == Counter(b for row in after.values() for b in row)


def check_lists(case, made):
    """Each move is of another partition of the table, so `monthly.lists_after` finds all rows."""
    cluster, policy, _ = case
    before, after = lists_after(cluster, made)
    assert after.keys() == before.keys()
    assert len({(move.topic, move.partition) for move in made.moves}) == len(made.moves)
    found = monthly.lists_after(View(cluster, policy), made.moves)
    assert [found.row(row) for row in range(len(found))] == [*after.values()]


def check_steady(case, made):
    cluster = case[0]
    racks = {broker.id: broker.rack for broker in cluster.brokers}
    live = {broker.id for broker in cluster.brokers if broker.is_live}
    before, after = lists_after(cluster, made)
    for told, lists in ((made.totals.steady_before, before), (made.totals.steady_after, after)):
        per_s, nano, unknown = 0, 0, 0
        for row in cluster.partitions:
            name = f"{row.topic}-{row.partition}"
            leader = row.leader if lists[name] == before[name] else lists[name][0]
            followers = [b for b in lists[name] if b != leader and b in live]
            if leader is None or not followers:
                continue
            if row.bytes_in_per_s is None:
                unknown += 1
                continue
            crossing = [b for b in followers if racks[b] != racks[leader]]
            per_s += len(crossing) * row.bytes_in_per_s
            day = usd_nano(row.bytes_in_per_s * DAY_S, PRICE.nano_usd_per_gb_out, PRICE.gb_bytes)
            nano += 2 * day * len(crossing)
        assert (told.cross_bytes_per_s, told.usd_nano_per_day) == (per_s, nano)
        assert told.unknown_rates == unknown


@given(cases())
def test_totals_of_a_plan_add_up(case):
    cluster, policy, goal = case
    with suppress(Infeasible):
        made = plan(cluster, policy, goal, prices=PRICES)
        check_totals(case, made)
        check_dollars(case, made)
        check_loads(case, made)
        check_lists(case, made)
        check_steady(case, made)
        assert check(cluster, policy, made).is_proved


@given(problems(is_limited=True))
def test_sets_of_a_proved_plan_are_the_cheapest_of_their_partitions(problem):
    made = check_planned(problem, "auto")
    assume(made is not None and made.verdict.is_proved)
    instance, after = apply_plan(problem.cluster, problem.policy, made, prices=problem.prices)
    offers = prices_of_certificate(instance, made.certificates[0])
    searched, summed = (
        fewest_touched(instance, offers, after.sets, is_at_bound=is_at_bound)
        for is_at_bound in (False, True)
    )
    assert made.totals.partitions_at_least == searched == summed
