"""Strategies of replica sets whose leaders are chosen, and the law that judges a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from hypothesis import strategies as st

from naive_leaders import Best, best_leaders, boxed_loads, options, unfairness
from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.choose import ChosenLeaders, choose_leaders

if TYPE_CHECKING:
    from collections.abc import Mapping


class LeaderCase(NamedTuple):
    """Rows of brokers, previous leaders (-1 = none), whether those stay, and shares of the load."""

    sets: list[list[int]]
    preferred: list[int]
    keeps: bool = False
    weights: Mapping[int, int] = {}
    costs: list[Mapping[int, int]] | None = None

    def chosen(self) -> ChosenLeaders:
        """The choice of the algorithm."""
        cost = None
        if self.costs is not None:
            paid = [self.costs[row][b] for row, members in enumerate(self.sets) for b in members]
            cost = np.array(paid, dtype=np.int64)
        return choose_leaders(
            Ragged.of(self.sets),
            np.array(self.preferred, dtype=np.int64),
            rule="keep" if self.keeps else "even",
            weights=self.weights,
            cost=cost,
        )

    def best(self) -> Best:
        """The best choice by enumeration."""
        return best_leaders(
            self.sets,
            self.preferred,
            keeps=self.keeps,
            weights=self.weights,
            costs=self.costs,
        )


@st.composite
def leader_cases(draw, brokers=5, rows=6):
    count = draw(st.integers(1, brokers))
    members = st.lists(st.integers(0, count - 1), min_size=1, max_size=4, unique=True)
    sets = draw(st.lists(members, max_size=rows))
    preferred = [draw(st.sampled_from([*row, *row, -1, count - 1])) for row in sets]
    weights = st.dictionaries(st.integers(0, count - 1), st.integers(1, 4))
    costs = None
    if draw(st.booleans()):
        costs = [{broker: draw(st.integers(-3, 5)) for broker in row} for row in sets]
    return LeaderCase(
        sets=sets,
        preferred=preferred,
        keeps=draw(st.booleans()),
        weights=draw(st.one_of(st.just({}), weights)),
        costs=costs,
    )


def check_leaders(case: LeaderCase, chosen: ChosenLeaders) -> None:
    """The choice is allowed, as fair and as cheap as any other, and proved to be so."""
    best = case.best()
    leaders = chosen.leader.tolist()
    allowed = options(case.sets, case.preferred, keeps=case.keeps)
    assert all(a in row for a, row in zip(leaders, allowed, strict=True)), "who may not lead leads"
    assert unfairness(leaders, case.weights) == best.unfairness, "a fairer choice exists"
    assert chosen.cost == best.cost, "a cheaper choice exists"
    assert chosen.lower_bound == best.cost, "the prices do not prove it"
    assert chosen.changes == sum(a != b for a, b in zip(leaders, case.preferred, strict=True))
    assert dict(zip(chosen.brokers.tolist(), chosen.loads.tolist(), strict=True)) == {
        broker: leaders.count(broker) for broker in chosen.brokers.tolist()
    }
    box = frozenset(boxed_loads(chosen))
    assert best.loads <= box, "fair loads lie outside the ranges"
    for inside, least in chosen.fair.cuts:
        ids = set(chosen.brokers[list(inside)].tolist())
        assert sum(set(row) <= ids for row in allowed) == least, "the cut forces another number"
        assert sum(leader in ids for leader in leaders) == least, "the cut is not tight"
