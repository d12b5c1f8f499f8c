"""Why a plan moves one partition, or leaves it: the rules, the loads, and what another set costs.

Goals, in order: every number follows from the plan, the cluster and the policy; a statement about
costs holds for all plans, not only for this one; one partition costs a pass over the loads.

A certificate prices every broker. Under its prices, the set that the plan gives a partition is one
of the cheapest, and no fair plan costs less than the bound. So a plan that gives this partition
another set costs at least the difference of the two values more (the reduced cost of the set):

```
dual prices         1: 1   2: 0   3: 0          before {1 3}   after {2 3}   one copy costs 1
value after         1 + 0 + 0 = 1
value of {1 3}      1 + 0 = 1                   keeping it costs at least 0 more: not excluded
value of {1 2}      1 + 1 + 0 = 2               costs at least 1 more
```

If the difference is 0, the price of replication may decide, by its own certificate: then the
difference is nano-dollars per day, among plans with as many moves. If both are 0, the prices do not
exclude a plan with the other set that is as cheap. That is a bound: there need not be such a plan.

Limits: sets that differ in one broker are compared, beside the set before. A plan that is not
proved has no such numbers. Leaders are compared within the sets of the plan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from rackwise.core.audit import audit
from rackwise.core.model import PartitionTable, Ragged
from rackwise.core.planning.leaders.eligible import electable
from rackwise.core.planning.leaders.expected import with_steady_costs
from rackwise.core.planning.model import Leaders, balances_rest, is_limited
from rackwise.core.planning.outcome.left_alone import LIST_RULES
from rackwise.core.planning.outcome.move_columns import all_moves
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.proof.applied import apply_moves, index_of_brokers
from rackwise.core.planning.proof.replication import OBJECTIVE as REPLICATION
from rackwise.core.planning.reasons.model import (
    BrokerLoad,
    Extra,
    LeaderReason,
    OtherTarget,
    PartitionReason,
    RuleReason,
    State,
)
from rackwise.core.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, PartitionId
    from rackwise.core.planning.model import BrokerGroup, Certificate, Plan
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price


def reason_of(
    cluster: Cluster,
    policy: Policy,
    plan: Plan,
    partition: PartitionId,
    *,
    prices: Sequence[Price] = (),
) -> PartitionReason:
    """Why a plan moves a partition of the cluster that it was made from, or leaves it.

    `prices`: the price rows that the plan was made with. Raises `KeyError` for a partition that the
    cluster does not have, and what `instance_of` raises.
    """
    instance = instance_of(cluster, policy, plan.goal, minimise=plan.minimise, prices=prices)
    instance = with_steady_costs(instance, prices)
    return _Reasoning(instance, plan).of(_row(instance, partition))


def _row(instance: Instance, partition: PartitionId) -> int:
    table = instance.view.table
    topic, number = partition
    if topic in table.topics:
        rows = np.flatnonzero(table.topic == table.topics.index(topic))
        found = rows[table.partition[rows] == number].tolist()
        if found:
            return int(found[0])
    raise KeyError(partition)


class _Objective(NamedTuple):
    """One objective with the prices of its certificate."""

    name: str
    instance: Instance
    prices: NDArray[np.int64]
    """Dual price of each usable broker for the partition's topic, int64 [B]."""

    def values(self, row: int, sets: Ragged) -> NDArray[np.int64]:
        """The value of sets of one row under the prices, int64 [sets]."""
        instance, brokers = self.instance, sets.values.astype(np.int64)
        rows = np.full(len(brokers), row, dtype=np.int64)
        leaf = instance.leaf[brokers]
        is_held = np.isin(brokers, instance.held.row(row))
        costs = np.where(is_held, instance.held_cost_at(rows, leaf), instance.cost_at(rows, leaf))
        return View.sums(sets, costs + self.prices[brokers])


class _Reasoning:
    """A plan applied to the cluster that it was made from."""

    def __init__(self, instance: Instance, plan: Plan) -> None:
        self._instance = instance
        self._plan = plan
        self._applied = apply_moves(instance, all_moves(plan), keeps_sets=_keeps_sets(plan))
        placed, lists = instance.view.placed, self._applied.lists
        # Ids of the brokers that lose a replica, and of those that get one, in any order.
        self._left = placed.values[~placed.values_in(lists)]
        self._came = lists.values[~lists.values_in(placed)]
        self._firsts = lists.firsts

    def of(self, row: int) -> PartitionReason:
        instance, table = self._instance, self._instance.view.table
        before = instance.view.placed.row(row)
        after = self._applied.lists.row(row)
        others = [] if instance.is_frozen[row] or _keeps_sets(self._plan) else self._others(row)
        can_stay, stay = self._stay(row)
        given = [broker for broker in before if broker not in after]
        taken = [broker for broker in after if broker not in before]
        return PartitionReason(
            topic=table.topics[table.topic[row]],
            partition=int(table.partition[row]),
            before=before,
            after=after,
            state=self._state(row, before, after),
            rules=tuple(self._rules(row)),
            given=tuple(self._load(broker, row) for broker in given),
            taken=tuple(self._load(broker, row) for broker in taken),
            can_stay=can_stay,
            stay=stay,
            others=tuple(others),
            leader=self._leader(row, before, after),
            cordoned=self._cordoned(before),
        )

    def _cordoned(self, brokers: Sequence[int]) -> tuple[int, ...]:
        found = {one.id for one in self._instance.view.cluster.brokers if one.is_cordoned}
        return tuple(broker for broker in brokers if broker in found)

    def _state(self, row: int, before: Sequence[int], after: Sequence[int]) -> State:
        if self._instance.is_frozen[row]:
            return self._frozen_state(row, before)
        if set(before) != set(after):
            return "moved"
        return "kept" if before == after else "reordered"

    def _frozen_state(self, row: int, before: Sequence[int]) -> State:
        instance, goal = self._instance, self._plan.goal
        view = instance.view
        if view.rules[view.row_rules[row]].exclude:
            return "excluded"
        if not is_limited(goal):
            return "cordoned" if self._cordoned(before) else "unusable"
        if not balances_rest(goal):
            return "untouched"
        if len(instance.held.row(row)) < len(before):
            return "unusable"
        return "cordoned" if self._cordoned(before) else "untouched"

    def _rules(self, row: int) -> Iterator[RuleReason]:
        """The broken rules about the list, from an audit of the partition's topic alone."""
        view, table = self._instance.view, self._instance.view.table
        topic = table.topics[table.topic[row]]
        rows = np.flatnonzero(table.topic == table.topic[row])
        policy = replace(view.policy, audit=replace(view.policy.audit, ignore=()))
        alone = replace(
            view.cluster, partitions=PartitionTable.of(table[each] for each in rows.tolist())
        )
        for finding in audit(alone, policy, rules=(*LIST_RULES, "leader-rack")):
            if (finding.topic, finding.partition) == (topic, int(table.partition[row])):
                yield RuleReason(
                    rule=finding.rule,
                    level=finding.level,
                    wanted=finding.wanted,
                    had=finding.had,
                )

    def _load(self, id_: int, row: int) -> BrokerLoad:
        instance = self._instance
        at = int(index_of_brokers(instance, np.array([id_], dtype=np.int32))[0])
        price = None
        objective = next(self._objectives(row), None)
        if at >= 0 and objective is not None:
            price = int(objective.prices[at])
        low, high = _range_of(self._plan.fair.groups, id_)
        return BrokerLoad(
            broker=id_,
            rack=_rack_of(instance, id_),
            before=int((instance.view.placed.values == id_).sum()),
            takes=int((self._came == id_).sum()),
            gives=int((self._left == id_).sum()),
            after=int((self._applied.lists.values == id_).sum()),
            low=low,
            high=high,
            price=price,
        )

    def _objectives(self, row: int) -> Iterator[_Objective]:
        """The objectives of the sets that are proved, in order of priority."""
        plan, instance = self._plan, self._instance
        if not plan.verdict.is_proved:
            return
        topic = instance.view.table.topics[instance.topic[row]]
        for name in (plan.minimise, REPLICATION):
            one = plan.certificate(name)
            if one is not None:
                priced = (
                    instance.with_steady_objective(one.weight) if name == REPLICATION else instance
                )
                yield _Objective(name, priced, _prices_of(instance, one, topic))

    def _extras(self, row: int, sets: Sequence[Sequence[int]]) -> list[Extra | None]:
        """What each set of usable brokers costs more than the plan's; None without a proof."""
        found: list[Extra | None] = [None] * len(sets)
        all_sets = Ragged.of([*sets, self._applied.sets.row(row)])
        for objective in self._objectives(row):
            values = objective.values(row, all_sets)
            for at, more in enumerate((values[:-1] - values[-1]).tolist()):
                had = found[at]
                if had is None or (had.amount == 0 and more > 0):
                    found[at] = Extra(amount=max(0, more), objective=objective.name)
        return found

    def _legal(self, row: int, sets: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
        """Whether sets of usable brokers are legal for one row: bool [sets]."""
        instance = self._instance
        rows = np.full(len(sets), row, dtype=np.int64)
        is_lost = row in instance.lost_pins.tolist()
        alike = replace(
            instance,
            class_of=instance.class_of[rows],
            replicas=instance.replicas[rows],
            held=instance.held.take(rows),
            pins=instance.pins.take(rows),
            lost_pins=np.arange(len(sets) if is_lost else 0),
            is_frozen=instance.is_frozen[rows],
        )
        return alike.legal(Ragged.of([sorted(one) for one in sets]))

    def _stay(self, row: int) -> tuple[bool, Extra | None]:
        """Whether the set before is legal, and what keeping it costs more."""
        instance = self._instance
        held = instance.held.row(row)
        is_whole = len(held) == int(instance.view.placed.lengths[row])
        if instance.is_frozen[row] or _keeps_sets(self._plan):
            return True, None
        if not is_whole or not self._legal(row, [held])[0]:
            return False, None
        return True, self._extras(row, [held])[0]

    def _others(self, row: int) -> list[OtherTarget]:
        """The legal sets with one other broker, cheapest first, in canonical order."""
        instance = self._instance
        chosen = self._applied.sets.row(row)
        copied = [broker for broker in chosen if broker not in instance.held.row(row)]
        free = [broker for broker in range(len(instance.brokers)) if broker not in chosen]
        pairs = [(old, new) for old in copied or chosen for new in free]
        sets = [[new if each == old else each for each in chosen] for old, new in pairs]
        legal = np.flatnonzero(self._legal(row, sets)).tolist() if sets else []
        extras = self._extras(row, [sets[at] for at in legal])
        order = sorted(range(len(legal)), key=lambda at: _rank(extras[at], self._plan.minimise))
        return [
            OtherTarget(
                instead_of=int(instance.brokers[pairs[legal[at]][0]]),
                broker=int(instance.brokers[pairs[legal[at]][1]]),
                extra=extras[at],
            )
            for at in order
        ]

    def _leader(self, row: int, before: Sequence[int], after: Sequence[int]) -> LeaderReason | None:
        if not before or not after or before[0] == after[0]:
            return None
        instance = self._instance
        candidates = electable(instance, self._applied.sets).sets.row(row)
        old, new = index_of_brokers(
            instance, np.array([before[0], after[0]], dtype=np.int32)
        ).tolist()
        cause: Literal["gone", "unusable", "not-eligible", "loads"] = "loads"
        if before[0] not in after:
            cause = "gone"
        elif old < 0:
            cause = "unusable"
        elif old not in candidates:
            cause = "not-eligible"
        prices: Mapping[int, int] = {}
        extra = None
        certificate = self._plan.certificate("leaders")
        if certificate is not None and self._plan.verdict.is_proved:
            prices = certificate.prices
            if cause == "loads":
                more = prices.get(before[0], 0) - prices.get(after[0], 0) - 1
                extra = Extra(amount=max(0, more), objective="leaders")
        return LeaderReason(
            before=self._leader_load(before[0], prices.get(before[0]) if old >= 0 else None),
            after=self._leader_load(after[0], prices.get(after[0]) if new >= 0 else None),
            cause=cause,
            extra=extra,
        )

    def _leader_load(self, id_: int, price: int | None) -> BrokerLoad:
        led, leads = self._instance.view.preferred == id_, self._firsts == id_
        low, high = _range_of(self._plan.fair.leader_groups, id_)
        return BrokerLoad(
            broker=id_,
            rack=_rack_of(self._instance, id_),
            before=int(led.sum()),
            takes=int((leads & ~led).sum()),
            gives=int((led & ~leads).sum()),
            after=int(leads.sum()),
            low=low,
            high=high,
            price=price,
        )


def _keeps_sets(plan: Plan) -> bool:
    return isinstance(plan.goal, Leaders)


def _rank(extra: Extra | None, first: str) -> tuple[bool, int]:
    """Sorts amounts of the first objective after those of the second, which only decide ties."""
    if extra is None:
        return False, 0
    return extra.objective == first and extra.amount > 0, extra.amount


def _prices_of(instance: Instance, certificate: Certificate, topic: str) -> NDArray[np.int64]:
    """The dual price of each usable broker for a topic, int64 [B]."""
    more = {one.broker: one.price for one in certificate.topic_prices if one.topic == topic}
    return np.array(
        [certificate.prices.get(id_, 0) + more.get(id_, 0) for id_ in instance.brokers.tolist()],
        dtype=np.int64,
    )


def _rack_of(instance: Instance, id_: int) -> str | None:
    racks = {broker.id: broker.rack for broker in instance.view.cluster.brokers}
    rack = racks.get(id_)
    return None if rack is None else rack.text


def _range_of(groups: Sequence[BrokerGroup], id_: int) -> tuple[int | None, int | None]:
    for group in groups:
        if id_ in group.brokers:
            at = group.brokers.index(id_)
            return group.low[at], group.high[at]
    return None, None
