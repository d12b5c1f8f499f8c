"""Whole plans: what they state, what they reject, and that they are deterministic."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from laws_planning import applied
from planner_vectors import CENTS
from planning_problems import Problem, problems
from rackwise.core.audit import audit
from rackwise.core.errors import Infeasible, InvalidConfig, InvalidPolicy, InvalidSnapshot, NoFlow
from rackwise.core.json.canonical import sha256_of
from rackwise.core.model import PartitionTable
from rackwise.core.planning import plan as front
from rackwise.core.planning.model import Add, Balance, Drain, Leaders, Repair, Verdict
from rackwise.core.planning.outcome.move_columns import MoveColumns
from rackwise.core.planning.plan import fair_loads, plan
from rackwise.core.planning.what_if import LoseBroker, what_if
from rackwise.core.policy import BalancePolicy, Policy, Slack, TopicBlock
from rackwise.core.policy.format import policy_table
from rackwise.core.racks import Rack
from rackwise.core.solver import FlowStopped
from small_clusters import small_cluster

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Minimise, Plan, Solver, Totals
    from rackwise.core.solver import Network

FEWER = settings(max_examples=max(10, settings().max_examples // 2))
"""Each example is planned several times."""

RACKS = {1: "/a", 2: "/b", 3: "/a", 4: "/b"}
GROWN = small_cluster(RACKS, {f"t-{i}": [1, 2] for i in range(4)}, sizes={"t-0": 5, "t-1": None})


def found(cluster: Cluster, policy: Policy | None = None, **how: Any) -> Plan:
    return plan(cluster, policy or Policy(), **how)


class TestPlan:
    def test_totals_are_sums_over_the_moves(self) -> None:
        made = found(GROWN)
        assert made.verdict.text == "proved"
        assert made.totals.moves == sum(len(move.added) for move in made.moves) == 4
        assert (made.totals.repair_moves, made.totals.balance_moves) == (0, 4)
        assert made.totals.partitions_at_least <= made.totals.partitions == 2
        assert made.totals.usd_nano is None

    def test_dollars_of_moves_and_of_every_day(self) -> None:
        made = found(GROWN, prices=CENTS)
        assert made.totals.usd_nano is not None
        assert made.totals.steady_before is not None
        assert made.totals.steady_before.unknown_rates == 4

    def test_made_from(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("t",), replication=2),))
        made = found(GROWN, policy).made_from
        assert made.policy_sha256 == sha256_of(policy_table(policy))
        assert {id_: str(seen.rack) for id_, seen in made.brokers.items()} == RACKS

    def test_partition_counts_of_topics_with_moves(self) -> None:
        lists = {"t-0": [1, 2], "t-1": [1, 2], "t-2": [1, 2], "u-0": [3, 4]}
        cluster = small_cluster(RACKS, lists)
        for goal in (Drain((1,)), Leaders()):
            made = found(cluster, goal=goal)
            assert {move.topic for move in made.moves} == {"t"}
            assert made.made_from.partitions == {"t": 3}

    def test_certificates_of_sets_and_of_leaders(self) -> None:
        made = found(GROWN)
        assert [one.objective for one in made.certificates] == ["moves", "leaders"]
        assert made.fair.leader_groups
        assert made.certificates[0].groups == made.fair.groups

    @pytest.mark.parametrize("goal", [Balance(), Leaders()])
    def test_moves_are_columns(self, goal: Goal) -> None:
        assert isinstance(found(GROWN, goal=goal).moves, MoveColumns)

    def test_steps_are_reported(self) -> None:
        told: list[int] = []
        found(GROWN, progress=told.append)
        assert sum(told) == 5

    def test_plan_of_a_hypothetical_cluster_is_hypothetical(self) -> None:
        assert not found(GROWN).hypothetical
        assert found(what_if(GROWN, LoseBroker(4)), goal=Repair()).hypothetical
        assert found(what_if(GROWN, LoseBroker(4)), goal=Leaders()).hypothetical

    def test_balanced_cluster_needs_no_moves(self) -> None:
        once = found(GROWN)
        again = found(applied(GROWN, once.moves))
        assert (again.moves, again.solver) == ((), "closed form")

    def test_brokers_that_join(self) -> None:
        made = found(GROWN, goal=Add(((9, Rack("/b")),)))
        assert made.made_from.brokers[9].rack == Rack("/b")
        assert any(9 in move.after for move in made.moves)

    def test_only_leaders(self) -> None:
        made = found(GROWN, goal=Leaders())
        assert made.totals.order_only == made.totals.leader_changes == len(made.moves) == 2
        assert [one.objective for one in made.certificates] == ["leaders"]
        assert made.verdict.is_proved

    @pytest.mark.parametrize("cost", ["bytes", "usd"])
    def test_leaders_have_no_copies_to_minimise(self, cost: Minimise) -> None:
        with pytest.raises(InvalidConfig, match=f"the goal leaders cannot minimise {cost}"):
            plan(GROWN, goal=Leaders(), minimise=cost)

    @pytest.mark.parametrize("solver", ["auto", "flow"])
    def test_a_solver_that_is_stopped_leaves_the_cheapest_set_of_each_partition(
        self, solver: Solver
    ) -> None:
        asked: list[Network] = []

        def solve(network: Network) -> NDArray[np.int64]:
            asked.append(network)
            raise FlowStopped

        lists = {f"t-{i}": [1, 3] if i % 2 else [1, 2] for i in range(8)}
        made = plan(
            small_cluster(RACKS, lists), solver=solver, solve=solve, should_stop=lambda: bool(asked)
        )
        assert (made.solver, len(asked)) == ("none", 1)
        assert (made.verdict.is_legal, made.verdict.is_heuristic) == (True, True)

    def test_an_empty_cluster(self) -> None:
        made = found(small_cluster({1: "/a"}, {}))
        assert (made.moves, made.totals.moves, made.verdict.text) == ((), 0, "proved")


class TestRejected:
    def test_partitions_without_a_legal_set(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("*",), replication=5),))
        with pytest.raises(Infeasible, match="t-0: expected 5 usable brokers, got 4") as raised:
            found(GROWN, policy)
        assert len(raised.value.impossible) == 4
        assert raised.value.as_dict()["impossible"] == list(raised.value.impossible)
        with pytest.raises(Infeasible):
            fair_loads(GROWN, policy)

    def test_loads_that_contradict_each_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def stuck(*_: object, **__: object) -> None:
            raise NoFlow("expected a flow of all 3 units, got none")

        monkeypatch.setattr(front, "by_rack", stuck)
        with pytest.raises(Infeasible, match="no fair loads: the rules") as raised:
            found(GROWN)
        assert raised.value.impossible == ("expected a flow of all 3 units, got none",)

    def test_cluster_with_running_reassignments(self) -> None:
        moving = small_cluster(RACKS, {"t-0": [1, 2, 3]}, adding={"t-0": [3]})
        with pytest.raises(InvalidSnapshot, match="1 reassignment in progress"):
            found(moving)


class TestTimeLimit:
    def test_best_legal_plan_so_far(self) -> None:
        made = found(GROWN, should_stop=lambda: True)
        assert made.verdict.is_legal
        assert not made.verdict.is_fair
        assert made.verdict.text.startswith("heuristic")
        assert made.solver == "none"

    def test_search_finished_in_time_is_proved(self) -> None:
        asked = iter([False] * 2)
        made = plan(GROWN, should_stop=lambda: next(asked, True), solver="auto")
        assert made.verdict.text == "proved"


class TestFairLoads:
    def test_ranges_of_replicas_and_leaders(self) -> None:
        loads = fair_loads(GROWN)
        assert (loads.low, loads.high) == (dict.fromkeys(RACKS, 2), dict.fromkeys(RACKS, 2))
        assert loads.leader_high[1] == 2
        assert loads.leader_high[3] == 0

    def test_audit_compares_with_them(self) -> None:
        assert "replica-balance" in audit(GROWN, fair=fair_loads(GROWN)).counts

    def test_slack(self) -> None:
        loads = fair_loads(GROWN, Policy(balance=BalancePolicy(replicas=Slack(1))))
        assert (loads.low[1], loads.high[1]) == (1, 3)


def make(problem: Problem) -> Plan:
    try:
        return problem.plan("auto")
    except (Infeasible, InvalidConfig, InvalidPolicy):
        reject()


@FEWER
@given(problems(), st.randoms(use_true_random=False))
def test_input_order_does_not_change_the_plan(problem: Problem, rng: Any) -> None:
    brokers, rows = list(problem.cluster.brokers), list(problem.cluster.partitions)
    rng.shuffle(brokers)
    rng.shuffle(rows)
    shuffled = replace(
        problem.cluster,
        brokers=tuple(brokers),
        topics=dict(sorted(problem.cluster.topics.items(), reverse=True)),
        partitions=PartitionTable.of(rows),
    )
    assert make(problem._replace(cluster=shuffled)) == make(problem)


@FEWER
@given(problems())
def test_plan_of_the_planned_cluster_is_empty(problem: Problem) -> None:
    goal = problem.goal if isinstance(problem.goal, Repair | Drain) else Balance()
    once = make(problem._replace(goal=goal))
    after = applied(problem.cluster, once.moves)
    assert make(problem._replace(cluster=after, goal=goal)).totals.moves == 0


@FEWER
@given(problems())
def test_new_names_in_the_same_order_change_nothing_else(problem: Problem) -> None:
    rows = [replace(row, topic=f"x{row.topic}") for row in problem.cluster.partitions]
    blocks = tuple(
        replace(block, match=tuple("*" if glob == "*" else f"x{glob}" for glob in block.match))
        for block in problem.policy.topics
    )
    renamed = replace(
        problem.cluster,
        topics={
            f"x{name}": replace(topic, name=f"x{name}")
            for name, topic in problem.cluster.topics.items()
        },
        partitions=PartitionTable.of(rows),
    )
    made = make(problem)
    other = make(problem._replace(cluster=renamed, policy=replace(problem.policy, topics=blocks)))
    assert [replace(move, topic=move.topic[1:]) for move in other.moves] == list(made.moves)
    assert without_reasons(other.totals) == without_reasons(made.totals)


def without_reasons(totals: Totals) -> Totals:
    """The totals without sentences that name partitions."""
    assert totals.monthly is not None
    monthly = replace(totals.monthly, replication_reason=None, reads_reason=None)
    return replace(totals, monthly=monthly)


def test_verdict_reports_the_gap() -> None:
    verdict = Verdict(cost=3, lower_bound=1, gap=2, is_legal=True, is_fair=True)
    assert verdict.text == "gap 2"
    assert replace(verdict, is_heuristic=True).text == "heuristic 2"


def test_a_plan_at_the_bound_may_have_other_problems() -> None:
    verdict = Verdict(cost=3, lower_bound=3, gap=0, is_legal=True, is_fair=True)
    assert (verdict.is_at_bound, verdict.is_proved) == (True, True)
    other = replace(verdict, problems=("expected 0 changed preferred leaders, got 2",))
    assert (other.is_at_bound, other.is_proved) == (True, False)
    wrong = ({"is_legal": False}, {"is_fair": False}, {"gap": 1, "cost": 4})
    assert not any(replace(verdict, **fields).is_at_bound for fields in wrong)
