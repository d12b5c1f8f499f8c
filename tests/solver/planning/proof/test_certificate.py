"""The check of plans: correct plans are proved, and each fault is named."""

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from checked_plans import check
from planner_vectors import CENTS, generated_cluster, tiny_cases
from planning_problems import PRICES, problems
from proved_plans import grown, with_certificate
from rackwise.core.errors import Infeasible, InvalidPolicy, OptimumTooLarge
from rackwise.core.planning.model import Balance, Leaders, Move, TopicPrice
from rackwise.core.planning.plan import plan
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.proof.bound import bound
from rackwise.core.planning.proof.certificate import lower_bound
from rackwise.core.planning.proof.dual_prices import MOST_PRICE
from rackwise.core.policy import Policy, TopicBlock, check_policy
from small_clusters import small_cluster

CASES = [case for case in tiny_cases() if case.expect["feasible"]]


def with_a_lost_replica(size):
    return small_cluster({1: "/a", 2: "/a"}, {"t-0": [1]}, dead=[1], sizes={"t-0": size})


def test_correct_plan_is_proved():
    cluster, made = grown()
    verdict = check(cluster, Policy(), made)
    assert (verdict.text, verdict.cost, verdict.lower_bound) == ("proved", 6, 6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_listed_certificates_give_their_bounds(case):
    made = plan(case.cluster, case.policy, minimise=case.minimise, prices=CENTS)
    said = case.expect["certificate"]
    certificate = replace(
        made.certificates[0],
        prices={int(id_): price * case.unit for id_, price in said["prices"].items()},
        topic_prices=tuple(TopicPrice(*one) for one in said.get("topic_prices", ())),
    )
    found = lower_bound(case.cluster, case.policy, certificate, prices=CENTS)
    assert found == said["lower_bound"] * case.unit
    free = replace(certificate, prices={}, topic_prices=())
    assert lower_bound(case.cluster, case.policy, free, prices=CENTS) == (
        case.expect["bound_without_prices"] * case.unit
    )


def test_unnecessary_move_makes_a_gap():
    cluster = small_cluster({1: "/a", 2: "/a"}, {"t-0": [1]})
    made = plan(cluster)
    needless = Move(topic="t", partition=0, topic_id=None, before=(1,), after=(2,), bytes=1)
    verdict = check(cluster, Policy(), replace(made, moves=(needless,)))
    assert (verdict.text, verdict.is_legal, verdict.is_fair) == ("gap 1", True, True)


def test_groups_of_plan_and_certificate_must_be_equal():
    cluster, made = grown()
    other = replace(made, fair=replace(made.fair, groups=()))
    told = "the plan and its certificate state different groups of brokers"
    assert check(cluster, Policy(), other).problems == (told,)


class TestPrices:
    def test_bound_that_differs_from_the_prices(self):
        cluster, made = grown()
        verdict = check(cluster, Policy(), with_certificate(made, prices={}))
        assert (verdict.gap, verdict.text) == (6, "gap 6")
        assert verdict.problems == ("expected lower bound 0 from the dual prices, got 6",)

    def test_unknown_brokers_and_topics(self):
        cluster, made = grown()
        prices = {**made.certificates[0].prices, 99: 1, 1: 10**30}
        topic_prices = (
            TopicPrice("t", 99, 1, 1),
            TopicPrice("zz", 1, 1, 1),
            TopicPrice("t", 1, 1, -1),
            TopicPrice("t", 1, 1, 2),
        )
        forged = with_certificate(made, prices=prices, topic_prices=topic_prices)
        told = check(cluster, Policy(), forged).problems
        assert "expected dual prices of usable brokers, got one of broker 99" in told
        assert f"expected a dual price of at most {MOST_PRICE}, got {10**30} of broker 1" in told
        for where in ("topic t on broker 99", "topic zz on broker 1"):
            assert f"expected dual prices of topics on usable brokers, got one of {where}" in told
        assert any("expected a dual price from 0 to" in problem for problem in told)
        assert "expected one dual price of topic t on broker 1, got two" in told
        assert "expected no cap of topic t, got 1 on broker 1" in told

    def test_greatest_accepted_prices(self):
        racks = dict.fromkeys(range(1, 10), "/a")
        cluster = small_cluster(racks, {"t-0": list(range(1, 10))})
        made = plan(cluster)
        dear = dict.fromkeys(racks, MOST_PRICE)
        dear_too = tuple(TopicPrice("t", id_, 1, MOST_PRICE) for id_ in racks)
        forged = with_certificate(made, prices=dear, topic_prices=dear_too)
        assert check(cluster, Policy(), forged).lower_bound == 0

    def test_wrong_cap_of_a_topic(self):
        even = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
        lists = {"x-0": [1, 3], "x-1": [1, 3], "y-0": [2, 4], "y-1": [2, 4]}
        cluster = small_cluster({1: "/a", 2: "/a", 3: "/b", 4: "/b"}, lists)
        made = plan(cluster, even)
        assert made.verdict.cost == 4
        first = made.certificates[0].topic_prices[0]
        changed = (first._replace(cap=0), *made.certificates[0].topic_prices[1:])
        told = check(cluster, even, with_certificate(made, topic_prices=changed)).problems
        assert any("expected the cap 1 of topic" in problem for problem in told)
        told = check(cluster, even, replace(made, moves=())).problems
        assert "expected at most 1 replica of topic x on broker 1, got 2" in told

    def test_missing_certificate(self):
        cluster, made = grown()
        verdict = check(cluster, Policy(), replace(made, certificates=()))
        assert "expected a certificate of moves, got none" in verdict.problems

    def test_prices_outside_groups_keep_the_bound_valid(self):
        cluster, made = grown()
        loose = replace(made.certificates[0], groups=(), prices={1: 5, 4: -5})
        instance = instance_of(cluster, Policy(), Balance())
        assert bound(instance, loose) <= 0

    def test_cluster_without_legal_sets(self):
        _, made = grown()
        small = small_cluster({1: "/a"}, {"t-0": [1, 2]})
        with pytest.raises(Infeasible, match="t-0: expected 2 usable brokers, got 1") as told:
            lower_bound(small, Policy(), made.certificates[0])
        assert told.value.impossible == ("t-0: expected 2 usable brokers, got 1",)

    @pytest.mark.parametrize("bits", [56, 60, 62])
    def test_copies_too_expensive_are_rejected(self, bits):
        with pytest.raises(OptimumTooLarge, match=f"expected less than {2**56}"):
            plan(with_a_lost_replica(2**bits), minimise="bytes")

    def test_most_expensive_copies_are_accepted(self):
        assert plan(with_a_lost_replica(2**55), minimise="bytes").verdict.lower_bound == 2**55


def test_leader_plans_keep_sets():
    cluster, _ = grown()
    made = plan(cluster, goal=Leaders())
    assert check(cluster, Policy(), made) == made.verdict
    moved = Move(topic="t", partition=0, topic_id=None, before=(1, 2, 3), after=(4, 2, 3), bytes=1)
    verdict = check(cluster, Policy(), replace(made, moves=(moved,)))
    assert verdict.problems[0] == "t-0: expected the same brokers, got others"
    assert not verdict.is_legal


@given(problems(), st.data())
def test_verdict_of_any_placement_equals_brute_force(problem, data):
    question = problem.question
    try:
        check_policy(question.policy, question.cluster)
        made = problem.plan("auto")
    except (Infeasible, InvalidPolicy):
        reject()
    ids = [broker.id for broker in question.cluster.brokers]
    anything = st.lists(st.sampled_from(ids), min_size=1, max_size=4, unique=True).map(frozenset)
    chosen = [
        data.draw(st.sampled_from(sets) if data.draw(st.integers(0, 9)) else anything)
        for sets in map(question.whole_sets, range(len(question.options)))
    ]
    moves = tuple(
        Move(
            topic=p.topic,
            partition=p.partition,
            topic_id=None,
            before=p.replicas,
            after=tuple(sorted(x)),
            bytes=p.bytes,
        )
        for p, x in zip(question.partitions, chosen, strict=True)
        if x != set(p.replicas)
    )
    verdict = check(problem.cluster, problem.policy, replace(made, moves=moves), prices=PRICES)
    wrong = [row for row, x in enumerate(chosen) if x not in question.whole_sets(row)]
    named = {problem.partition(":")[0] for problem in verdict.problems}
    assert verdict.is_legal == (not wrong)
    assert {
        f"{question.partitions[row].topic}-{question.partitions[row].partition}" for row in wrong
    } <= named
    if not wrong:
        chosen = [x & set(question.brokers) for x in chosen]
        loads = tuple(sum(b in x for x in chosen) for b in question.brokers)
        over = [
            topic
            for topic, caps in question.caps.items()
            for broker, cap in caps.items()
            if cap
            < sum(
                broker in x
                for p, x in zip(question.partitions, chosen, strict=True)
                if p.topic == topic
            )
        ]
        assert verdict.is_fair == (question.is_allowed(loads) and not over)
        cost = sum(question.cost(p, x) for p, x in zip(question.partitions, chosen, strict=True))
        assert (verdict.cost, verdict.gap) == (cost, cost - question.minimum())


@given(problems(), st.data())
def test_bound_of_any_prices_is_below_every_placement(problem, data):
    question = problem.question
    try:
        check_policy(question.policy, question.cluster)
        made = problem.plan("auto")
    except (Infeasible, InvalidPolicy):
        reject()
    some = st.integers(-20, 20)
    certificate = replace(
        made.certificates[0],
        prices={id_: data.draw(some) for id_ in question.brokers},
        topic_prices=tuple(
            TopicPrice(topic, broker, cap, data.draw(st.integers(0, 9)))
            for topic, caps in question.caps.items()
            for broker, cap in caps.items()
        ),
    )
    instance = problem.instance
    assert bound(instance, certificate) <= question.minimum()


def test_checking_imports_no_solver():
    code = (
        "import sys; from rackwise.core.planning.proof import certificate; "
        "sys.exit(any(name.partition('.')[0] == 'ortools' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_generated_cluster():
    cluster = generated_cluster("messy", 15, 3, 600, 3)
    made = plan(cluster)
    assert check(cluster, Policy(), made).text == "proved"
