"""No certificate with a false bound is accepted, whatever its groups, cuts and prices.

A group that is wider than what is fair makes a bound lower and still true; one that is narrower
leaves fair loads out, and its bound may be above what a fair plan costs.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from checked_plans import check
from naive_audit import placed
from planning_problems import PRICES, problems
from rackwise.core.errors import Infeasible, InvalidPolicy
from rackwise.core.planning.model import BrokerGroup, Cut, Move
from rackwise.core.planning.proof.applied import apply_moves
from rackwise.core.planning.proof.bound import bound, certify

LEAST, MOST = -3, 3
THROWS = 20
HALF = 0.5


@st.composite
def other_groups(draw, groups):
    """The same brokers with other ranges or totals, or with two groups joined or one split."""
    found = [*groups]
    at = draw(st.integers(0, len(found) - 1))
    match draw(st.sampled_from(["wider", "narrower", "total", "joined", "apart"])), found[at]:
        case "wider", group:
            low = tuple(max(0, n - draw(st.integers(0, 2))) for n in group.low)
            high = tuple(n + draw(st.integers(0, 2)) for n in group.high)
            found[at] = replace(group, low=low, high=high)
        case "narrower", group:
            where = draw(st.integers(0, len(group.brokers) - 1))
            end = draw(st.sampled_from([group.low[where], group.high[where]]))
            low, high = [*group.low], [*group.high]
            low[where] = high[where] = end
            found[at] = replace(group, low=tuple(low), high=tuple(high))
        case "total", group:
            found[at] = replace(group, total=max(0, group.total + draw(st.sampled_from([-1, 1]))))
        case "joined", _:
            found = [_joined(found)]
        case "apart", group:
            first = draw(st.integers(sum(group.low[:1]), sum(group.high[:1])))
            found[at : at + 1] = [
                _part(group, slice(None, 1), first),
                _part(group, slice(1, None), group.total - first),
            ][: len(group.brokers)]
    return tuple(found)


def _joined(groups):
    rows = sorted(
        row for group in groups for row in zip(group.brokers, group.low, group.high, strict=True)
    )
    brokers, low, high = zip(*rows, strict=True)
    total = sum(group.total for group in groups)
    return BrokerGroup(brokers=brokers, low=low, high=high, total=total)


def _part(group, where, total):
    return BrokerGroup(
        brokers=group.brokers[where], low=group.low[where], high=group.high[where], total=total
    )


@st.composite
def other_certificates(draw, certificate, brokers):
    """A certificate with any change; its bound is the one that its prices give."""
    found = certificate
    if found.groups and draw(st.booleans()):
        found = replace(found, groups=draw(other_groups(found.groups)))
    if draw(st.booleans()):
        prices = {
            id_: price + draw(st.integers(LEAST, MOST)) for id_, price in found.prices.items()
        }
        found = replace(found, prices=prices)
    if draw(st.booleans()):
        inside = draw(st.lists(st.sampled_from(brokers), min_size=1, unique=True).map(sorted))
        cut = Cut(brokers=tuple(inside), least=draw(st.integers(0, 4)), reason="so it is")
        found = replace(found, cuts=(*found.cuts, cut) if draw(st.booleans()) else (cut,))
    return found


def other_moves(chance, question):
    """Moves to random legal sets, fair ones if some are found, and their loads."""
    for _ in range(THROWS):
        sets = [chance.choice(options) for options in question.options]
        loads = tuple(sum(id_ in chosen for chosen in sets) for id_ in question.brokers)
        if question.is_allowed(loads):
            break
    moves = []
    for row, chosen in zip(question.partitions, sets, strict=True):
        before = tuple(placed(row))
        kept = tuple(id_ for id_ in before if id_ in chosen)
        after = (*kept, *sorted(chosen - set(before)))
        if after != before:
            moves.append(
                Move(
                    topic=row.topic,
                    partition=row.partition,
                    topic_id=None,
                    before=before,
                    after=after,
                    bytes=row.bytes,
                )
            )
    return tuple(moves), loads


def exact_groups(question, loads):
    """Groups of one broker each that allow exactly these loads."""
    return tuple(
        BrokerGroup(brokers=(id_,), low=(load,), high=(load,), total=load)
        for id_, load in zip(question.brokers, loads, strict=True)
    )


@settings(max_examples=60)
@given(st.data(), st.randoms(use_true_random=False), problems())
def test_accepted_bound_is_a_lower_bound(data, chance, problem):
    """Also for the best prices of groups that exclude cheaper loads."""
    try:
        found = problem.plan("auto")
    except (Infeasible, InvalidPolicy):
        reject()
    question, instance = problem.question, problem.instance
    assume(question.brokers)
    least = question.minimum()
    for _ in range(3):
        moves, loads = other_moves(chance, question)
        groups = exact_groups(question, loads) if found.fair.groups else ()
        if chance.random() < HALF:
            moves, groups = found.moves, found.fair.groups
        fair = replace(found.fair, groups=groups)
        made = certify(instance, apply_moves(instance, moves).sets, fair)
        if chance.random() < HALF:
            made = data.draw(other_certificates(made, question.brokers))
        made = replace(made, lower_bound=bound(instance, made))
        other = replace(
            found,
            moves=moves,
            certificates=(made, *found.certificates[1:]),
            fair=replace(fair, groups=made.groups),
        )
        verdict = check(problem.cluster, problem.policy, other, prices=PRICES)
        if verdict.is_legal and verdict.is_fair and not problems_of_sets(verdict.problems):
            assert made.lower_bound <= least, "an accepted bound is above what is possible"
            assert (verdict.gap == 0) <= (verdict.cost == least)


def problems_of_sets(problems):
    """The problems that do not concern leaders, which are checked separately."""
    return [each for each in problems if "leader" not in each]
