"""The proven best assignment for plug-ins; a missing solver is reported at construction.

`rack-optimal` needs a solver. Without one the constructor raises. An error inside a rebalance
callback would be worse: every member of the group would lose its racks to the fallback.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.assignors.distance import check_weight
from rackwise.core.assignors.members import TopicPartition
from rackwise.core.assignors.optimal.assign import assign_optimal, check_balance
from rackwise.core.solver import require_solver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.assignors.members import Assignment, Members, ReplicaRacks
    from rackwise.core.assignors.optimal.assign import BalanceScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The assignor of the proven best assignment.

    Raises `MissingDependency` without a solver, `InvalidConfig` for an unknown balance, and
    `InvalidWeights`. In a callback of the client these errors would only disable the racks.
    """

    balance: BalanceScope = "total"
    """As in `assign_optimal`."""
    weights: Mapping[TopicPartition, int] | None = None
    """As in `assign_optimal`; weights of other topics are ignored."""

    def __post_init__(self) -> None:
        require_solver()
        check_balance(self.balance)
        if self.weights is not None:
            weights = {TopicPartition(*tp): weight for tp, weight in self.weights.items()}
            for tp, weight in weights.items():
                check_weight(tp, weight)
            object.__setattr__(self, "weights", weights)

    def decide(self, members: Members, racks: ReplicaRacks) -> Assignment:
        """The best assignment, without the partitions that another member still reads."""
        return assign_optimal(
            members,
            racks,
            balance=self.balance,
            weights=None if self.weights is None else self._weights(members, racks),
            cooperative=True,
        )

    def _weights(self, members: Members, racks: ReplicaRacks) -> dict[TopicPartition, int]:
        topics = {topic for member in members.values() for topic in member.topics}
        return {
            tp: weight
            for tp, weight in (self.weights or {}).items()
            if tp.topic in topics and tp.partition < len(racks.get(tp.topic, ()))
        }
