"""Plans against a model of the whole problem in CP-SAT: no plan costs more than the optimum.

The model knows the legal sets of each partition (`naive_plan`, `naive_scope`) and nothing of the
planner. Among all choices of one set for each partition it finds the least unevenness of the loads,
if they must be even, and then the least cost.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest
from ortools.sat.python import cp_model

from naive_audit import placed
from naive_plan import Question, of_goal
from rackwise.core.errors import Infeasible
from rackwise.core.model import Broker, Cluster, LogDir, Partition, PartitionTable, Topic
from rackwise.core.planning.model import (
    Add,
    Balance,
    Drain,
    Repair,
    Replace,
    SetReplication,
)
from rackwise.core.planning.plan import plan
from rackwise.core.planning.proof.certificate import check
from rackwise.core.policy import BrokerPolicy, Policy
from rackwise.core.policy.excluded_topics import exclude_topics
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from rackwise.core.planning.model import Goal

CLUSTERS = int(os.environ.get("RACKWISE_MODEL_CLUSTERS", "2000"))
"""Number of clusters of the long run."""
RACKS = (
    ("/a", "/b", "/c"),
    ("/a", "/b"),
    ("/e/a", "/e/b", "/w/a", "/w/b"),
    ("/e/a", "/e/b", "/w/a"),
)


@dataclass(frozen=True)
class FastQuestion(Question):
    """A question that judges each combination of racks once."""

    def keeps_spread(self, p: Partition, chosen: tuple[int, ...]) -> bool:
        key = (p.topic, *sorted(self.world.paths[id_] for id_ in chosen))
        if key not in self._known:
            self._known[key] = super().keeps_spread(p, chosen)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[Any, bool]:
        return {}


def random_problem(seed: int) -> tuple[Cluster, Policy, Goal]:
    """5 to 10 brokers and 4 to 16 partitions, most of them placed without regard to racks."""
    rng = random.Random(seed)
    racks = rng.choice(RACKS)
    ids = sorted(rng.sample(range(1, 30), rng.randint(5, 10)))
    home = {id_: racks[at % len(racks)] for at, id_ in enumerate(ids)}
    dead = {rng.choice(ids)} if rng.random() < 0.3 else set()
    cordoned = {rng.choice(ids)} if rng.random() < 0.3 else set()
    folders = {id_: (LogDir(path="/data", is_cordoned=id_ in cordoned),) for id_ in ids}
    rows = []
    for topic in ("a", "b"):
        size = rng.randint(2, 4)
        for number in range(rng.randint(2, 8)):
            replicas = tuple(rng.sample(ids, min(size, len(ids) - 1)))
            rows.append(
                Partition(topic=topic, partition=number, replicas=replicas, leader=replicas[0],
                          isr=replicas, bytes=rng.randint(0, 9))
            )  # fmt: skip
    cluster = Cluster(
        cluster_id="outside",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(
            Broker(id=i, rack=Rack(home[i]), is_live=i not in dead, log_dirs=folders[i])
            for i in ids
        ),
        topics={name: Topic(name=name, min_insync_replicas=1) for name in ("a", "b")},
        partitions=PartitionTable.of(rows),
    )
    excluded = (rng.choice(ids),) if rng.random() < 0.3 else ()
    policy = Policy(brokers=BrokerPolicy(exclude=excluded))
    if rng.random() < 0.2:
        policy = exclude_topics(policy, ["b"])
    repair, rebalance = rng.random() < 0.3, rng.random() < 0.5
    live = [id_ for id_ in ids if id_ not in dead]
    old = rng.choice(ids)
    new = max(ids) + 1
    spare = Broker(id=new, rack=Rack(home[old]))
    goal: Goal = rng.choice(
        [
            Repair(),
            Balance(),
            Drain((rng.choice(live),), rebalance, repair),
            SetReplication((("a", rng.randint(2, 4)),), rebalance, repair),
            Add(((new, Rack(rng.choice(racks))),), repair),
            Replace(((old, new),), repair),
        ]
    )
    if isinstance(goal, Replace):
        cluster = replace(cluster, brokers=(*cluster.brokers, spare))
    return cluster, policy, goal


def least_cost(question: Question) -> int | None:
    """The optimum of the model; None if a partition has no legal set."""
    if question.impossible:
        return None
    model = cp_model.CpModel()
    loads: dict[int, list[Any]] = {id_: [] for id_ in question.brokers}
    costs = []
    for p, sets in zip(question.partitions, question.options, strict=True):
        picks = [model.new_bool_var("") for _ in sets]
        model.add_exactly_one(picks)
        for pick, brokers in zip(picks, sets, strict=True):
            costs.append(pick * question.cost(p, brokers))
            for id_ in brokers:
                loads[id_].append(pick)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if question.policy.balance.replicas == "even":
        most = sum(len(placed(p)) for p in question.partitions) + 4 * len(question.partitions)
        squares = []
        for picks in loads.values():
            load, square = model.new_int_var(0, most, ""), model.new_int_var(0, most * most, "")
            model.add(load == sum(picks))
            model.add_multiplication_equality(square, [load, load])
            squares.append(square)
        model.minimize(sum(squares))
        assert solver.solve(model) == cp_model.OPTIMAL
        model.add(sum(squares) == round(solver.objective_value))
    model.minimize(sum(costs))
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


def differences(seed: int) -> str | None:
    """How the plan differs from the model; None if it does not."""
    cluster, policy, goal = random_problem(seed)
    known = of_goal(cluster, policy, goal)
    question = FastQuestion(**{name: getattr(known, name) for name in known.__dataclass_fields__})
    wanted = least_cost(question)
    try:
        made = plan(cluster, policy, goal)
    except Infeasible as error:
        return None if wanted is None else f"{seed}: {goal} costs {wanted}, got {error}"
    if wanted is None or made.verdict.cost != wanted or not made.verdict.is_proved:
        return f"{seed}: {goal} costs {wanted}, got {made.verdict}"
    if check(cluster, policy, made) != made.verdict:
        return f"{seed}: {goal} is proved as {check(cluster, policy, made)}"
    return None


@pytest.mark.parametrize("first", [0, 10])
def test_no_plan_costs_more_than_the_model(first: int) -> None:
    assert [text for seed in range(first, first + 10) if (text := differences(seed))] == []


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_plan_of_many_costs_more_than_the_model() -> None:
    assert [text for seed in range(CLUSTERS) if (text := differences(10_000 + seed))] == []
