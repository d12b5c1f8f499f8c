"""Statements of a plan beside its proof: true in every plan, and named if they are forged."""

from dataclasses import replace

import pytest
from hypothesis import given, reject, settings

from checked_plans import check
from planner_vectors import CENTS
from planning_problems import PRICES, problems
from proved_plans import grown, with_move
from rackwise.core.errors import Infeasible, InvalidPolicy
from rackwise.core.model import PartitionTable
from rackwise.core.planning.model import Cut, Leaders, TopicPrice
from rackwise.core.planning.plan import plan
from rackwise.core.planning.proof.applied import apply_plan
from rackwise.core.planning.proof.stated_totals import false_statements
from rackwise.core.policy import Policy
from small_clusters import small_cluster

CLUSTER, MADE = grown()
FIRST = MADE.moves[0]
BROKERS = MADE.made_from.brokers


FEWER = settings(max_examples=max(10, settings().max_examples // 4))


def false_sentences(cluster, made, prices=()):
    """The false statements of a plan that is proved."""
    verdict = check(cluster, Policy(), made, prices=prices)
    assert verdict.is_proved
    return false_statements(
        apply_plan(cluster, Policy(), made, prices=prices), made, verdict, prices=prices
    )


@FEWER
@given(problems())
def test_plans_have_no_false_statements(problem):
    try:
        found = problem.plan("auto")
    except (InvalidPolicy, Infeasible):
        reject()
    assert (
        false_statements(
            apply_plan(*problem[:2], found, prices=PRICES), found, found.verdict, prices=PRICES
        )
        == ()
    )


@pytest.mark.parametrize(
    ("forged", "sentence"),
    [
        (replace(MADE, cluster_id=None), "expected cluster small, got not known"),
        (
            replace(MADE, made_from=replace(MADE.made_from, brokers={**BROKERS, 9: BROKERS[1]})),
            "broker 9: the plan records another rack or state",
        ),
        (
            replace(MADE, verdict=replace(MADE.verdict, cost=0)),
            "the verdict: expected cost 6, got 0",
        ),
        (with_move(MADE, 0, bytes=77), f"t-{FIRST.partition}: expected bytes 1, got 77"),
        (with_move(MADE, 0, bytes=None), f"t-{FIRST.partition}: expected bytes 1, got not known"),
        (with_move(MADE, 0, reasons=("pin",)), f"t-{FIRST.partition}: expected reasons "),
        (replace(MADE, moves=MADE.moves[::-1]), "the moves are not in execution order"),
        (replace(MADE, totals=replace(MADE.totals, moves=1)), "totals: expected moves 6, got 1"),
        (
            replace(MADE, totals=replace(MADE.totals, repair_moves=6)),
            "totals: expected repair_moves 0, got 6",
        ),
    ],
)
def test_false_statements_are_named(forged, sentence):
    assert false_sentences(CLUSTER, MADE) == ()
    [problem] = false_sentences(CLUSTER, forged)
    assert problem.startswith(sentence)


def with_fair(**fields):
    return replace(MADE, fair=replace(MADE.fair, **fields))


def with_certificate(at, **fields):
    certificates = [*MADE.certificates]
    certificates[at] = replace(certificates[at], **fields)
    return replace(MADE, certificates=tuple(certificates))


def with_partitions(**counts):
    return replace(MADE, made_from=replace(MADE.made_from, partitions=counts))


CUT = Cut(brokers=(1,), least=0, reason="none")
COUNT = MADE.made_from.partitions["t"]


@pytest.mark.parametrize(
    ("forged", "sentence"),
    [
        (with_fair(cuts=(*MADE.fair.cuts, CUT)), "fair: expected the cuts that the policy gives"),
        (with_fair(leader_groups=()), "fair: expected the leader_groups that the policy gives"),
        (with_fair(topic_caps={"t": {1: 5}}), "fair: expected the topic_caps that the policy"),
        (with_certificate(0, unit="euros"), "moves: expected the unit that the policy gives"),
        (with_certificate(0, cuts=(CUT,)), "moves: expected the cuts that the policy gives"),
        (with_certificate(0, weight=3), "moves: expected no weight, got 3"),
        (with_certificate(1, cuts=(CUT,)), "leaders: expected the cuts that the policy gives"),
        (
            replace(MADE, certificates=(*MADE.certificates, MADE.certificates[0])),
            "expected certificates of moves, leaders, got moves, leaders, moves",
        ),
        (replace(MADE, hypothetical=True), "expected a plan for a real cluster, got one for a hyp"),
        (
            with_partitions(t=COUNT + 1),
            f"topic t: expected {COUNT} partitions, got {COUNT + 1} partitions",
        ),
        (with_partitions(), f"topic t: expected {COUNT} partitions, got no number of partitions"),
        (
            with_partitions(t=COUNT, u=1),
            "topic u: expected no number of partitions, got 1 partition",
        ),
    ],
)
def test_false_statements_about_the_proof_are_named(forged, sentence):
    [problem] = false_sentences(CLUSTER, forged)
    assert problem.startswith(sentence)


def test_the_order_of_certificates_is_checked_and_not_relied_on():
    forged = replace(MADE, certificates=MADE.certificates[::-1])
    assert false_sentences(CLUSTER, forged) == (
        "expected certificates of moves, leaders, got leaders, moves",
    )


UNPROVED = {
    "price of an unknown broker": with_certificate(0, prices={99: 1}),
    "price of an unknown topic": with_certificate(0, topic_prices=(TopicPrice("x", 99, 1, 1),)),
    "no certificate": replace(MADE, certificates=()),
    "move twice": replace(MADE, moves=(*MADE.moves, MADE.moves[0])),
    "later move twice": replace(MADE, max_moves=6, later=(MADE.moves[0],)),
    "move of no partition": with_move(MADE, 0, partition=77),
    "later move of no partition": replace(MADE, max_moves=6, later=(replace(FIRST, partition=77),)),
}


@pytest.mark.parametrize("forged", UNPROVED.values(), ids=UNPROVED)
def test_false_statements_of_a_plan_that_is_not_proved(forged):
    verdict = check(CLUSTER, Policy(), forged)
    assert not verdict.is_proved
    assert false_statements(apply_plan(CLUSTER, Policy(), forged), forged, verdict)


def test_a_move_that_the_lists_do_not_need_is_named():
    forged = UNPROVED["later move of no partition"]
    verdict = check(CLUSTER, Policy(), forged)
    assert "t-77: expected its move never, got it later" in false_statements(
        apply_plan(CLUSTER, Policy(), forged), forged, verdict
    )


def test_a_plan_for_a_hypothetical_cluster_says_so():
    imagined = replace(CLUSTER, source="suppose")
    made = plan(imagined)
    assert made.hypothetical
    assert false_sentences(imagined, made) == ()
    assert false_sentences(imagined, replace(made, hypothetical=False)) == (
        "expected a plan for a hypothetical cluster, got one for a real cluster",
    )


def test_wider_groups_are_false():
    group = MADE.certificates[0].groups[0]
    wide = replace(group, low=tuple(0 for _ in group.low), high=tuple(n + 1 for n in group.high))
    forged = replace(
        with_certificate(0, groups=(wide, *MADE.certificates[0].groups[1:])),
        fair=replace(MADE.fair, groups=(wide, *MADE.fair.groups[1:])),
    )
    verdict = check(CLUSTER, Policy(), forged)
    problems = (
        *verdict.problems,
        *false_statements(apply_plan(CLUSTER, Policy(), forged), forged, verdict),
    )
    assert "fair: expected the groups that the policy gives, got others" in problems
    assert "moves: expected the groups that the policy gives, got others" in problems


def test_dollars_are_recomputed_from_the_prices_of_the_plan():
    made = plan(CLUSTER, prices=CENTS)
    assert false_sentences(CLUSTER, made, CENTS) == ()
    forged = replace(made, totals=replace(made.totals, usd_nano=1))
    [problem] = false_sentences(CLUSTER, forged, CENTS)
    assert problem.startswith("totals: expected usd_nano ")


def test_dollars_without_prices_are_false():
    made = plan(CLUSTER, prices=CENTS)
    problems = false_sentences(CLUSTER, made)
    assert f"totals: expected usd_nano not known, got {made.totals.usd_nano}" in problems
    assert any(
        problem.startswith(f"t-{FIRST.partition}: expected usd_nano") for problem in problems
    )
    hidden = replace(made, totals=replace(made.totals, usd_nano=None))
    assert false_sentences(CLUSTER, hidden, CENTS)
    assert false_sentences(CLUSTER, hidden)


def test_totals_of_leader_plans_are_checked():
    cluster = small_cluster({1: "/a", 2: "/b"}, {"t-0": [1, 2], "t-1": [1, 2]})
    made = plan(cluster, goal=Leaders())
    assert false_sentences(cluster, made) == ()
    forged = replace(made, totals=replace(made.totals, leader_changes=0, steady_before=None))
    assert len(false_sentences(cluster, forged)) == 2


def test_plan_without_moves_is_checked():
    empty = replace(CLUSTER, partitions=PartitionTable.of([]), topics={})
    assert false_sentences(empty, plan(empty)) == ()


def test_a_plan_of_an_older_version_states_no_monthly_change():
    older = replace(MADE, totals=replace(MADE.totals, monthly=None))
    assert false_sentences(CLUSTER, older) == ()
