"""Plans without a solver: the exchange path of `plan`, judged by brute force."""

import numpy as np
import pytest
from hypothesis import given

from planner_vectors import CENTS, GB, generated_cluster, listed_cluster, tiny_cases
from planning_problems import check_planned, problems
from rackwise.core.errors import OptimumTooLarge
from rackwise.core.planning.fair_loads.targets import targets_of
from rackwise.core.planning.model import Balance, Repair
from rackwise.core.planning.problem.instance import Instance
from rackwise.core.planning.search.by_exchange import by_exchange
from rackwise.core.policy import Policy, TopicBlock
from small_clusters import small_cluster
from vectors import planner_vectors

CASES = [case for case in tiny_cases() if case.expect["feasible"]]


def never() -> bool:
    return False


def costs_of(case, sets, instance):
    """What the file lists, but for the partitions that are touched."""
    question = case.question
    chosen = [frozenset(instance.brokers[list(sets.row(row))].tolist()) for row in range(len(sets))]
    found = np.sum(
        [question.whole_cost(p, x) for p, x in zip(question.partitions, chosen, strict=True)],
        axis=0,
    ).tolist()
    if case.policy.balance.replicas == "off":
        found.insert(1, int((instance.loads(sets) ** 2).sum()))
    return tuple(found[:-1])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_tiny_cluster_has_the_listed_minimum_and_secondary_values(case):
    instance = Instance.of(
        case.cluster, case.policy, Balance(), minimise=case.minimise, prices=CENTS
    )
    sets = by_exchange(instance, targets_of(instance), should_stop=never)
    assert instance.legal(sets).all()
    listed = {k: n * (GB if k.endswith("GB") else 1) for k, n in case.expect["secondary"].items()}
    del listed["partitions_with_changed_sets"]
    wanted = (case.expect["minimum"] * case.unit, *listed.values())
    assert costs_of(case, sets, instance) == wanted


@given(problems())
def test_no_placement_is_cheaper_and_the_proof_says_so(problem):
    check_planned(problem, "exchange")


@pytest.mark.parametrize(
    "row",
    [row for row in planner_vectors()["generated"]["clusters"] if row["partitions"] <= 1000],
    ids=lambda row: "-".join(map(str, list(row.values())[:5])),
)
def test_the_generated_clusters_have_the_listed_moves(row):
    cluster = listed_cluster(row)
    instance = Instance.of(cluster, Policy(), Balance())
    sets = by_exchange(instance, targets_of(instance), should_stop=never)
    assert instance.cost(sets) == row["moves"]
    loads = instance.loads(sets)
    assert [loads.min(), loads.max()] == row["loads"]


def test_topics_with_caps():
    row = planner_vectors()["generated"]["clusters"][0]
    cluster = generated_cluster("random", 12, 3, 600, 3)
    policy = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
    instance = Instance.of(cluster, policy, Balance())
    sets = by_exchange(instance, targets_of(instance), should_stop=never)
    assert instance.cost(sets) == row["moves_with_topic_spread"]


def test_it_stops_with_legal_sets_when_told():
    cluster = generated_cluster("grown", 15, 3, 600, 3)
    instance = Instance.of(cluster, Policy(), Balance())
    sets = by_exchange(instance, targets_of(instance), should_stop=lambda: True)
    assert instance.legal(sets).all()
    assert instance.cost(sets) == 0


def test_numbers_too_large_for_the_lesser_goals_leave_the_first_exact():
    lists = {"t-0": [4, 2], "t-1": [4, 3], "t-2": [3, 1], "t-3": [1, 4]}
    tera = 2**45
    sizes = {"t-0": 2 * tera, "t-1": 8 * tera - 1, "t-2": tera, "t-3": 8 * tera}
    cluster = small_cluster(dict.fromkeys(range(1, 5), "/a"), lists, sizes=sizes)
    instance = Instance.of(cluster, Policy(), Balance(), minimise="bytes")
    sets = by_exchange(instance, targets_of(instance), should_stop=never)
    assert instance.cost(sets) == 3 * tera


def test_copies_too_dear_to_be_counted_beside_their_bytes_are_still_the_cheapest():
    cluster = small_cluster(
        {1: "/a", 2: "/a", 3: "/a"}, {"t-0": [1], "t-1": [2]}, dead=[1], sizes={"t-0": 2**51}
    )
    instance = Instance.of(cluster, Policy(), Repair(), minimise="bytes")
    sets = by_exchange(instance, targets_of(instance), should_stop=never)
    assert instance.loads(sets).tolist() == [1, 1]
    assert instance.cost(sets) == 2**51


def test_copies_too_dear_for_64_bits():
    cluster = small_cluster({1: "/a", 2: "/a"}, {"t-0": [1]}, sizes={"t-0": 2**60})
    instance = Instance.of(cluster, Policy(), Balance(), minimise="bytes")
    with pytest.raises(OptimumTooLarge, match=f"the dearest costs {2**60}"):
        by_exchange(instance, targets_of(instance), should_stop=never)
