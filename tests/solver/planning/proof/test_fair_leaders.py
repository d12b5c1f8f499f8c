"""The check of leaders: eligibility, fair numbers, and the number of changes."""

from dataclasses import replace

import pytest
from hypothesis import given, reject

from checked_plans import check
from planning_problems import PRICES, problems
from rackwise.core.errors import Infeasible, InvalidPolicy
from rackwise.core.planning.model import Balance, Leaders, Move, TopicPrice
from rackwise.core.planning.plan import plan
from rackwise.core.planning.proof.dual_prices import MOST_PRICE
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy, check_policy
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c"}
LISTS = {"t-0": [1, 2, 3], "t-1": [1, 2, 3], "t-2": [1, 2, 3]}


def made_of(policy=None, lists=LISTS, racks=RACKS, goal=None):
    cluster, policy = small_cluster(racks, lists), policy or Policy()
    return cluster, policy, plan(cluster, policy, goal or Leaders())


def listed(cluster, **lists):
    """Moves that only change the order of lists: `t0=(2, 1, 3)`."""
    rows = {f"{p.topic}{p.partition}": p for p in cluster.partitions}
    return tuple(
        Move(
            topic=rows[name].topic,
            partition=rows[name].partition,
            topic_id=None,
            before=rows[name].replicas,
            after=after,
            bytes=1,
        )
        for name, after in lists.items()
    )


def test_fair_leaders_with_the_fewest_changes():
    cluster, policy, made = made_of()
    assert (made.verdict.cost, made.verdict.lower_bound) == (2, 2)
    assert check(cluster, policy, made) == made.verdict


def test_leaders_that_are_not_fair():
    cluster, policy, made = made_of()
    verdict = check(cluster, policy, replace(made, moves=listed(cluster, t0=(2, 1, 3))))
    assert not verdict.is_fair
    expected = "leaders: expected fair loads, got 2 on broker 1, which could pass one to broker 3"
    assert any(problem.startswith(expected) for problem in verdict.problems)
    assert "leaders: expected 0 to 1 partitions led by broker 1, got 2" in verdict.problems


def test_unnecessary_leader_changes():
    cluster, policy, made = made_of()
    moves = listed(cluster, t0=(2, 1, 3), t1=(3, 1, 2), t2=(1, 3, 2))
    assert check(cluster, policy, replace(made, moves=moves)).gap == 0
    lists = {"t-0": [1, 2], "t-1": [2, 1]}
    cluster, policy, made = made_of(lists=lists, racks={1: "/a", 2: "/b"})
    verdict = check(cluster, policy, replace(made, moves=listed(cluster, t0=(2, 1), t1=(1, 2))))
    assert (verdict.gap, verdict.is_fair) == (2, True)
    whole = plan(cluster, policy)
    verdict = check(cluster, policy, replace(whole, moves=listed(cluster, t0=(2, 1), t1=(1, 2))))
    assert verdict.problems == ("expected 0 changed preferred leaders, got 2",)


def test_leader_that_is_not_eligible():
    cluster, policy, made = made_of(Policy(brokers=BrokerPolicy(no_lead=(1,))))
    verdict = check(cluster, policy, replace(made, moves=()))
    assert "t-0: expected an eligible leader, got 1" in verdict.problems


def test_a_leader_that_is_not_usable():
    cluster = small_cluster({**RACKS, 4: "/a"}, {"t-0": [4, 2, 3]}, dead=(4,))
    made = plan(cluster, goal=Leaders())
    assert check(cluster, Policy(), made) == made.verdict
    expected = "t-0: expected an eligible leader, got an unusable one"
    assert expected in check(cluster, Policy(), replace(made, moves=())).problems


def test_partition_without_eligible_leader():
    cluster = small_cluster({**RACKS, 4: "/a"}, {"t-0": [4]}, dead=(4,))
    made = plan(cluster, goal=Leaders())
    assert check(cluster, Policy(), made) == made.verdict


def test_without_a_certificate():
    cluster, policy, made = made_of()
    verdict = check(cluster, policy, replace(made, certificates=()))
    assert "expected a certificate of leaders, got none" in verdict.problems


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"prices": {1: 7}}, "expected lower bound "),
        ({"groups": ()}, "expected groups that contain every usable broker once"),
    ],
)
def test_wrong_certificate(fields, expected):
    cluster, policy, made = made_of()
    forged = replace(made, certificates=(replace(made.certificates[0], **fields),))
    problems_found = check(cluster, policy, forged).problems
    assert any(problem.startswith(expected) for problem in problems_found)


@pytest.mark.parametrize("goal", [Leaders(), Balance()], ids=str)
def test_prices_that_the_bound_ignores(goal):
    cluster, policy, made = made_of(goal=goal)
    (certificate,) = (one for one in made.certificates if one.objective == "leaders")
    forged = replace(
        certificate,
        prices={**certificate.prices, 99: 0, 1: 2**60},
        topic_prices=(TopicPrice("t", 1, 5, 0), TopicPrice("nope", 99, 5, 7)),
    )
    certificates = (*(one for one in made.certificates if one != certificate), forged)
    problems_found = check(cluster, policy, replace(made, certificates=certificates)).problems
    assert {
        "leaders: expected dual prices of usable brokers, got one of broker 99",
        f"leaders: expected a dual price of at most {MOST_PRICE}, got {2**60} of broker 1",
        "leaders: expected no dual price of a topic, got 0 of topic t",
        "leaders: expected no dual price of a topic, got 7 of topic nope",
    } <= {*problems_found}


def test_totals_of_groups():
    cluster, policy, made = made_of(lists={"t-0": [1, 2, 3], "t-1": [2, 1, 3]})
    (group,) = made.certificates[0].groups
    loose = replace(group, low=(0, 0, 0), high=(1, 1, 1), total=1)
    certificate = replace(made.certificates[0], groups=(loose,), prices={}, lower_bound=0)
    verdict = check(cluster, policy, replace(made, certificates=(certificate,)))
    assert "leaders: expected groups of brokers that lead 1 in all, got 2" in verdict.problems


@given(problems())
def test_leaders_of_any_cluster_are_proved(problem):
    policy = replace(problem.policy, balance=BalancePolicy())
    try:
        check_policy(policy, problem.cluster)
        made = plan(problem.cluster, policy, Leaders())
    except (Infeasible, InvalidPolicy):
        reject()
    assert check(problem.cluster, policy, made, prices=PRICES) == made.verdict
    assert made.verdict.is_proved
