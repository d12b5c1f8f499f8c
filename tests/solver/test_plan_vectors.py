"""The 27 solves that were enumerated exhaustively, and the generated clusters, as whole plans."""

from __future__ import annotations

from collections import Counter
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from planning_vectors import (
    GB,
    SPREAD_ON,
    VECTORS,
    Solve,
    cent_prices,
    checksum,
    cluster_of,
    generated,
    generated_cluster,
    policy_and_goal,
    solves,
)
from rackwise.core.errors import Infeasible
from rackwise.core.planning.certificate import check
from rackwise.core.planning.front import fair_loads, plan
from rackwise.core.policy import Policy, TopicBlock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.planning.values import Plan, Solver

UNITS = {"replica moves": 1, "GB": GB, "US cents": 10**7}
PRICES = cent_prices(date(2026, 1, 1))
FEASIBLE = [solve for solve in solves() if solve.expect["feasible"]]
GENERATED = VECTORS["generated"]["clusters"]
SMALL = [case for case in GENERATED if case["partitions"] <= 1000]
LARGE = [case for case in GENERATED if case["partitions"] > 1000]


def planned(solve: Solve, solver: Solver = "auto") -> Plan:
    return _planned(solve.text, solver)


@cache
def _planned(text: str, solver: Solver) -> Plan:
    solve = next(solve for solve in solves() if solve.text == text)
    policy, goal = policy_and_goal(solve)
    return plan(
        cluster_of(solve.case),
        policy,
        goal,
        minimise=solve.minimise,
        prices=PRICES,
        solver=solver,
    )


def lists_after(solve: Solve, found: Plan) -> dict[tuple[str, int], tuple[int, ...]]:
    lists = {(p.topic, p.partition): p.replicas for p in cluster_of(solve.case).partitions}
    return lists | {(move.topic, move.partition): move.after for move in found.moves}


@pytest.mark.parametrize("solver", ["auto", "flow", "exchange"])
@pytest.mark.parametrize("solve", FEASIBLE, ids=lambda solve: solve.text)
class TestSolves:
    """`minimum and bound_without_prices are exact for every correct planner`."""

    def test_cost_is_the_minimum_and_is_proved(self, solve: Solve, solver: Solver) -> None:
        found = planned(solve, solver)
        policy, _ = policy_and_goal(solve)
        assert found.verdict.cost == solve.expect["minimum"] * UNITS[solve.expect["unit"]]
        assert found.verdict.text == "proved"
        assert check(cluster_of(solve.case), policy, found, prices=PRICES) == found.verdict

    def test_lesser_goals_and_leaders_are_met(self, solve: Solve, solver: Solver) -> None:
        found = planned(solve, solver)
        had = {
            "bytes_moved_GB": found.totals.bytes // GB,
            "moves": found.totals.moves,
            "old_leaders_dropped": dropped(solve, found),
            "sum_of_squares_of_loads": squares(Counter(brokers_of(solve, found))),
            "partitions_with_changed_sets": found.totals.partitions,
        }
        expected = dict(solve.expect["secondary"])
        assert had["partitions_with_changed_sets"] >= expected.pop("partitions_with_changed_sets")
        assert {key: had[key] for key in expected} == expected


@pytest.mark.parametrize("solve", FEASIBLE, ids=lambda solve: solve.text)
class TestTies:
    """`A planner must meet secondary exactly, except partitions_with_changed_sets`."""

    def test_fewest_partitions_and_leaders(self, solve: Solve) -> None:
        found = planned(solve)
        touched = solve.expect["secondary"]["partitions_with_changed_sets"]
        assert found.totals.partitions == touched
        led = Counter(replicas[0] for replicas in lists_after(solve, found).values())
        assert squares(led) == solve.expect["leaders"]["sum_of_squares"]
        assert found.totals.leader_changes == solve.expect["leaders"]["changes"]


def dropped(solve: Solve, found: Plan) -> int:
    after = lists_after(solve, found)
    return sum(
        p.replicas[0] not in after[p.topic, p.partition] for p in cluster_of(solve.case).partitions
    )


def brokers_of(solve: Solve, found: Plan) -> list[int]:
    return [broker for replicas in lists_after(solve, found).values() for broker in replicas]


def squares(counts: Counter[int]) -> int:
    return sum(count * count for count in counts.values())


@pytest.mark.parametrize("solve", FEASIBLE, ids=lambda solve: solve.text)
class TestProofs:
    """What the vectors say of groups, cuts and bounds."""

    def test_groups_and_cuts(self, solve: Solve) -> None:
        found = planned(solve).certificates[0]
        expected = solve.expect["certificate"]
        groups = [
            (list(group.brokers), max(group.high, default=0), group.total) for group in found.groups
        ]
        assert groups == [
            (group["brokers"], high_of(group), group["total"]) for group in expected["groups"]
        ]
        cuts = [{"brokers": list(cut.brokers), "forced": cut.least} for cut in found.cuts]
        assert cuts == expected.get("cuts", [])
        assert found.lower_bound == expected["lower_bound"] * UNITS[solve.expect["unit"]]

    def test_unique_optimum_is_the_plan(self, solve: Solve) -> None:
        if solve.expect["optimal_placements"] == 1:
            after = lists_after(solve, planned(solve))
            assert {key: set(found) for key, found in after.items()} == {
                (topic, number): set(replicas) for topic, number, replicas in solve.expect["plan"]
            }

    def test_what_rules_alone_force(self, solve: Solve) -> None:
        if solve.minimise == "moves":
            totals = planned(solve).totals
            assert totals.repair_moves == solve.expect["bound_without_prices"]
            assert totals.balance_moves == totals.moves - totals.repair_moves


def high_of(group: Mapping[str, Any]) -> int:
    if "high" in group:
        return int(group["high"])
    return max(high for _, high in group["low_high"].values())


def test_slack_widens_the_fair_range() -> None:
    solve = next(solve for solve in FEASIBLE if solve.name == "balance-with-slack")
    policy, goal = policy_and_goal(solve)
    fair = fair_loads(cluster_of(solve.case), policy, goal)
    assert (fair.low, fair.high) == (dict.fromkeys(range(1, 5), 1), dict.fromkeys(range(1, 5), 3))


def test_impossible_partitions_are_named() -> None:
    solve = next(solve for solve in solves() if not solve.expect["feasible"])
    with pytest.raises(Infeasible, match="t-0 wants 3 distinct azs; 2 are usable") as raised:
        planned(solve)
    assert [text.split()[0] for text in raised.value.impossible] == solve.expect["impossible"]


def test_unequal_racks_are_explained() -> None:
    solve = next(solve for solve in FEASIBLE if solve.name == "unequal-racks-groups")
    [cut] = planned(solve).fair.cuts
    assert cut.reason == "/a takes at most 1 per partition"


def test_recipe_is_followed() -> None:
    for case in SMALL:
        lists = generated(
            case["kind"],
            brokers=case["brokers"],
            racks=case["racks"],
            partitions=case["partitions"],
            replication=case["replication"],
        )
        assert checksum(lists) == case["checksum"]
        assert [*lists[:3], lists[-1]] == [*case["first"], case["last"]]


def check_generated(case: Mapping[str, Any], solver: Solver = "auto") -> None:
    cluster = generated_cluster(case)
    found = plan(cluster, solver=solver)
    assert found.verdict.text == "proved"
    assert found.totals.moves == case["moves"]
    assert found.totals.repair_moves == case["bound_without_prices"]
    if "moves_with_topic_spread" in case:
        policy = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
        spread = plan(cluster, policy, solver=solver)
        assert spread.verdict.text == "proved"
        assert spread.totals.moves == case["moves_with_topic_spread"]


def name_of(case: Mapping[str, Any]) -> str:
    return f"{case['kind']} {case['brokers']}x{case['partitions']} on {case['racks']}"


@pytest.mark.parametrize("solver", ["auto", "flow"])
@pytest.mark.parametrize("case", SMALL, ids=name_of)
def test_generated_clusters(case: Mapping[str, Any], solver: Solver) -> None:
    check_generated(case, solver)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("case", LARGE, ids=name_of)
def test_large_generated_clusters(case: Mapping[str, Any]) -> None:
    check_generated(case)


def test_topic_spread_has_prices_of_its_own() -> None:
    solve = next(solve for solve in FEASIBLE if solve.objective == SPREAD_ON)
    found = planned(solve)
    assert found.fair.topic_caps["x"] == dict.fromkeys(range(1, 5), 1)
    assert found.certificates[0].topic_prices
