"""The choice of leaders: fair numbers inside given replica sets, with the fewest changes.

Goals, in order: every leader may lead; the numbers of leaders are as fair as the sets allow; as few
partitions as possible change their leader; ties go by canonical order. With `keep`, a leader that
stays a replica stays the leader, and only the other leaders are chosen for evenness.

Fair numbers are those of `fair_counts`: the least sum of `loads^2 / weight`. If every partition has
the same number of replicas, and every broker holds floor or ceiling of the mean, then leaders can
also be floor or ceiling of their mean without moving a replica.

```
sets            leader before    fair         after
0 1             0                1 1 1        0      kept
0 1             0                             1      changed: 0 leads one too many
1 2             0 (gone)                      2      changed: it had to
```

The algorithm. `fair_counts` computes the fair numbers. If they hold with the cheapest leader of
every row, that is the choice. Otherwise `by_flow` finds the cheapest choice with fair numbers. At
the end, rows that can swap leaders at equal cost do so if the list of leaders then sorts lower.

The proof is a price per broker. For each partition, take the least sum of price and cost among the
brokers that may lead it. The total, less the term of fair numbers at these prices, is a lower bound
of every choice.

Limits: the sets are given. Changes are minimal for these sets, and are not minimised jointly with
them (open for mixed replication).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rackwise.core.errors import InvalidConfig
from rackwise.core.planning.leaders.by_flow import cheapest_leaders
from rackwise.core.planning.leaders.dual_prices import dual_prices_of_leaders
from rackwise.core.planning.leaders.fair_counts import fair_numbers
from rackwise.core.planning.leaders.fair_groups import (
    FairLeaders,
    candidate_table,
    weights_of,
)
from rackwise.core.planning.leaders.state import MOST_COST, LeaderCandidates, LeaderChoice
from rackwise.core.view import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.leaders.fair_counts import LeaderLoads
    from rackwise.core.planning.leaders.fair_groups import Weights

ROUNDS = 16
"""Maximum rounds of swaps; a row takes part in one swap per round."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenLeaders(FairLeaders):
    """The leader of each partition, and the proof that no choice is better."""

    leader: NDArray[np.int64]
    """Leader of each row, int64 [rows], -1 if no broker may lead it."""
    changes: int
    """Rows whose leader is not the preferred one."""
    loads: NDArray[np.int64]
    """Leaderships of each broker, int64 [brokers]."""
    prices: NDArray[np.int64]
    """Dual price of each broker, int64 [brokers]."""
    cost: int
    """The sum of the costs."""
    lower_bound: int
    """The least cost of any fair choice."""


def choose_leaders(
    sets: Ragged,
    preferred: NDArray[np.int64],
    *,
    rule: Literal["even", "keep"] = "even",
    weights: Weights = None,
    cost: NDArray[np.int64] | None = None,
) -> ChosenLeaders:
    """A leader for each row of `sets`: fair numbers first, then the least cost.

    `sets`: brokers that may lead each row, without repeats, numbered in canonical order;
    `preferred`: int64 [rows], the previous leader, -1 = none. `weights`: broker -> share of the
    leaders, 1 if absent. `cost`: of each member of `sets`, int64; by default 1 for a change and 0
    for none.

    Raises `InvalidConfig` for a cost that is too large, `OptimumTooLarge`, and `MissingDependency`
    without ortools.
    """
    costs = _member_costs(sets, preferred, cost)
    if rule == "keep":
        sets, costs = _keep_preferred(sets, preferred, costs)
    brokers, rows_led, candidates = candidate_table(sets, costs)
    fair = fair_numbers(candidates, weights_of(brokers, weights))
    choice = _cheapest_choice(candidates, fair)
    prices = dual_prices_of_leaders(choice, fair)
    leader = np.full(len(sets), -1, dtype=np.int64)
    leader[rows_led] = brokers[_swap_leaders(candidates, choice, prices)]
    return ChosenLeaders(
        leader=leader,
        changes=int((leader != preferred).sum()),
        brokers=brokers,
        loads=choice.loads,
        fair=fair,
        prices=prices,
        cost=int(choice.cost.sum()),
        lower_bound=candidates.bound(prices) - fair.price_term(prices),
    )


def _member_costs(
    sets: Ragged, preferred: NDArray[np.int64], cost: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    if cost is None:
        is_change: NDArray[np.bool_] = sets.values != preferred[sets.rows]
        return is_change.astype(np.int64)
    largest = int(np.abs(cost).max(initial=0))
    if largest > MOST_COST:
        raise InvalidConfig(
            f"invalid cost of a leader: expected at most {MOST_COST}, got {largest}",
            wanted=MOST_COST,
            had=largest,
            hint="give costs in a coarser unit",
        )
    return cost


def _keep_preferred(
    sets: Ragged, preferred: NDArray[np.int64], costs: NDArray[np.int64]
) -> tuple[Ragged, NDArray[np.int64]]:
    """Sets in which a preferred leader that may lead is the only possible leader."""
    is_preferred = sets.values == preferred[sets.rows]
    stays = np.zeros(len(sets), dtype=np.bool_)
    stays[sets.rows[is_preferred]] = True
    wanted = is_preferred | ~np.repeat(stays, sets.lengths)
    return sets.keep(wanted), costs[wanted]


def _cheapest_choice(candidates: LeaderCandidates, fair: LeaderLoads) -> LeaderChoice:
    """The cheapest choice with fair loads."""
    column = candidates.cheapest()
    leader = candidates.members[np.arange(len(column)), column]
    # No choice is cheaper than the cheapest leader of each row: it needs no flow if it is fair.
    if fair.allows(np.bincount(leader, minlength=candidates.brokers)):
        return LeaderChoice(candidates, column)
    return LeaderChoice(candidates, cheapest_leaders(candidates, fair))


def _swap_leaders(
    candidates: LeaderCandidates, choice: LeaderChoice, prices: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Leaders after swaps: of two rows that may swap, the first takes the lower broker.

    Rows swap members that are as cheap as the leader at these prices. For all such rows, one of the
    two brokers costs the same amount more than the other, so a swap costs nothing.
    """
    leader = choice.leader.astype(np.int64)
    prices_and_costs = candidates.costs + np.append(prices, [0])[candidates.members]
    rows, columns = np.nonzero(prices_and_costs <= (choice.cost + prices[leader])[:, None])
    members = candidates.members[rows, columns].astype(np.int64)
    rounds = 0
    is_other = members != leader[rows]
    while rounds < ROUNDS and _swap_once(rows[is_other], members[is_other], leader):
        is_other = members != leader[rows]
        rounds += 1
    return leader


def _swap_once(
    rows: NDArray[np.int64], other: NDArray[np.int64], leader: NDArray[np.int64]
) -> bool:
    """Swap leaders, in place, with the `other` broker of ascending rows; whether any swapped."""
    if not len(rows):
        return False
    # Entries are (row, other broker) pairs. A class is all entries with the same two brokers.
    is_low = leader[rows] < other
    low, high = np.where(is_low, (leader[rows], other), (other, leader[rows]))
    class_, examples = distinct([low, high])
    is_wrong = _first_rows_take_lower(class_, is_low) != is_low
    is_unsorted = np.bincount(class_[is_wrong], minlength=len(examples)) > 0
    # A row swaps in its first unsorted class only: `first` is that class, int64 [rows].
    first = np.full(len(leader), len(examples))
    swaps = np.flatnonzero(is_unsorted[class_])
    np.minimum.at(first, rows[swaps], class_[swaps])
    swaps = swaps[first[rows[swaps]] == class_[swaps]]
    takes_low = _first_rows_take_lower(class_[swaps], is_low[swaps])
    leader[rows[swaps]] = np.where(takes_low, low[swaps], high[swaps])
    return len(swaps) > 0


def _first_rows_take_lower(
    class_: NDArray[np.int64], is_low: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which rows have the lower broker if the first rows of each class take it.

    As many rows have it as now.
    """
    order = np.argsort(class_, kind="stable")
    sizes = np.bincount(class_)
    lows = np.bincount(class_[is_low], minlength=len(sizes))
    place = np.arange(len(class_)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    takes_low = np.empty(len(class_), dtype=np.bool_)
    takes_low[order] = place < np.repeat(lows, sizes)
    return takes_low
