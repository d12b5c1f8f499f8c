"""A goal, a cluster and a policy as a planning problem in columns.

```
goal, policy     the policy with the goal, what the goal touches             goals
cluster          usable brokers in canonical order, what rows hold, pins     here
policy           the class of each row                                       partition_class
limits           frozen rows, relaxed classes                                goal_scope
```

Limits: this module chooses no sets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import PartialRacks
from rackwise.core.model import Ragged
from rackwise.core.planning.model import Leaders
from rackwise.core.planning.problem.copy_prices import CopyCosts
from rackwise.core.planning.problem.goal_scope import GoalScope, freeze, with_limits
from rackwise.core.planning.problem.goals import resolve_goal
from rackwise.core.planning.problem.instance import Instance
from rackwise.core.planning.problem.partition_class import PartitionClass
from rackwise.core.policy import check_policy
from rackwise.core.racks import RackTree
from rackwise.core.text import counted
from rackwise.core.view import View, distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Minimise
    from rackwise.core.planning.problem.goals import ResolvedGoal
    from rackwise.core.policy import Policy, TopicRules
    from rackwise.core.traffic import Price


def instance_of(
    cluster: Cluster,
    policy: Policy,
    goal: Goal,
    *,
    minimise: Minimise = "moves",
    prices: Sequence[Price] = (),
) -> Instance:
    """The problem that a goal poses for a cluster and a policy.

    `prices`: rows of one provider, required for dollars. Raises `InvalidConfig`, `InvalidPolicy`,
    `PartialRacks`; `InvalidSnapshot`, `InvalidPrices` if costs are unknown.
    """
    resolved = resolve_goal(goal, cluster.settled(policy.racks.map), policy)
    check_policy(resolved.policy, resolved.cluster)
    view = View(resolved.cluster, resolved.policy)
    tree = _rack_tree(view, minimise)
    places = _usable_places(view)
    index = np.full(len(view.live), -1, dtype=np.int64)
    index[places] = np.arange(len(places))
    brokers = view.tree.brokers[places]
    leaf = tree.nodes[-1][places].astype(np.int64)
    held = _held_brokers(view, index)
    pins, lost_pins = _pinned_brokers(view, resolved, index)
    scope = GoalScope.of(view, resolved.touched, held)
    classes, class_of = _partition_classes(view, tree, leaf, scope.replicas)
    weights = resolved.policy.brokers.weights
    closed = np.isin(brokers, resolved.policy.brokers.exclude) | view.cordoned[places]
    if resolved.takers is not None:
        closed |= ~np.isin(brokers, resolved.takers)
    first = view.tree.places(view.preferred)
    found = Instance(
        view=view,
        goal=goal,
        minimise=minimise,
        tree=tree,
        brokers=brokers,
        leaf=leaf,
        weights=np.array([weights.get(id_, 1) for id_ in brokers.tolist()], dtype=np.int64),
        is_open=~closed,
        classes=classes,
        class_of=class_of,
        replicas=scope.replicas,
        held=held,
        pins=pins,
        lost_pins=lost_pins,
        preferred=np.where(view.preferred >= 0, index[first], -1),
        is_touched=scope.is_touched,
        is_frozen=scope.is_frozen,
        is_capped=np.array(
            [view.rules[code].topic_spread == "even" for code in view.topic_rules.tolist()],
            dtype=np.bool_,
        ),
        costs=CopyCosts.of(view, minimise, prices, len(tree.names[-1])),
    )
    limits = resolved.limits
    found = _without_cordoned_brokers(found, is_limited=limits is not None)
    if isinstance(goal, Leaders):
        found = _without_unlisted_brokers(found)
    return freeze(found if limits is None else with_limits(found, resolved, limits))


def _without_cordoned_brokers(instance: Instance, *, is_limited: bool) -> Instance:
    """The instance in which no row that may change has a replica on a cordoned broker.

    A legal row stays where it is, and so does one that a limited goal does not touch.
    """
    view, held = instance.view, instance.held
    is_cordoned = view.cordoned[view.tree.places(instance.brokers)]
    is_on_cordoned = View.sums(view.placed, view.cordoned[view.placed_places]) > 0
    is_on_cordoned &= ~instance.is_frozen
    if not is_on_cordoned.any():
        return instance
    stays = is_on_cordoned.copy()
    if is_limited:
        stays &= ~instance.is_touched
    elif not isinstance(instance.goal, Leaders):
        stays &= instance.legal(held) & (held.lengths == view.placed.lengths)
    leaves = is_on_cordoned & ~stays
    return replace(
        instance,
        held=held.keep(~(leaves[held.rows] & is_cordoned[held.values])),
        is_frozen=instance.is_frozen | stays,
    )


def _without_unlisted_brokers(instance: Instance) -> Instance:
    """The instance in which rows keep their lists that name a broker the cluster does not list.

    Such a list stays as it is: Kafka accepts no new one that names an unknown broker.
    """
    view = instance.view
    is_unlisted = view.placed_places == len(view.tree.brokers)
    stays = View.sums(view.placed, is_unlisted) > 0
    return replace(instance, is_frozen=instance.is_frozen | stays)


def _rack_tree(view: View, minimise: Minimise) -> RackTree:
    """The rack tree; one rack for all brokers if the policy ignores racks or there are none.

    Raises `PartialRacks` if some live brokers have a rack and some have none, or an odd one.
    """
    rackless = view.live & (view.tree.nodes[0] < 0)
    missing = view.policy.racks.missing
    if not rackless.any():
        return view.tree
    racked = view.live & (view.tree.nodes[0] >= 0)
    ids = view.tree.brokers[np.flatnonzero(rackless[:-1])].tolist()
    odd = {each.broker: each for each in view.cluster.odd_racks if each.broker in ids}
    if minimise == "usd" or (missing == "error" and (odd or racked.any())):
        named = [odd[id_].text if id_ in odd else f"{id_}" for id_ in ids[:12]]
        causes = [odd[id_].hint for id_ in ids if id_ in odd]
        raise PartialRacks(
            f"expected a rack on every live broker, got {counted(len(ids), 'broker')} of "
            f"{int(view.live.sum())} without a rack{' that counts' if causes else ''}: "
            f"{', '.join(named)}",
            wanted=int(view.live.sum()),
            had=int(racked.sum()),
            hint=f"{causes[0] if causes else 'set broker.rack'}, or "
            'racks.missing = "one-rack" or "unaware" in the policy',
        )
    return RackTree.of(((id_, None) for id_ in view.tree.brokers.tolist()), missing="one-rack")


def _usable_places(view: View) -> NDArray[np.int64]:
    """The usable brokers by path segments as UTF-8 bytes, then id, as indexes."""
    keys = {
        broker.id: tuple(
            segment.encode("utf-8", "surrogatepass")
            for segment in (() if broker.rack is None else broker.rack.levels)
        )
        for broker in view.cluster.brokers
    }
    ids = view.tree.brokers.tolist()
    usable = np.flatnonzero(view.usable).tolist()
    return np.array(sorted(usable, key=lambda at: (keys[ids[at]], ids[at])), dtype=np.int64)


def _held_brokers(view: View, index: NDArray[np.int64]) -> Ragged:
    """The usable brokers that hold a placed replica, ascending in each row."""
    found = index[view.placed_places]
    kept = view.placed.keep(found >= 0)
    values = found[found >= 0]
    order = np.argsort(kept.rows * max(len(index), 1) + values, kind="stable")
    return Ragged(kept.offsets, values[order].astype(np.int32))


def _pinned_brokers(
    view: View, resolved: ResolvedGoal, index: NDArray[np.int64]
) -> tuple[Ragged, NDArray[np.int64]]:
    """The pinned brokers of each row, ascending, and the rows with an unusable pinned broker."""
    table = view.table
    pinned: dict[int, set[int]] = {}
    for code, rules in enumerate(view.rules):
        if rules.pin:
            numbers = dict(rules.pin)
            rows = np.flatnonzero(
                (view.row_rules == code) & np.isin(table.partition, list(numbers))
            )
            for row in rows.tolist():
                if some := numbers[int(table.partition[row])]:
                    pinned[row] = set(some)
    for old, new in resolved.heirs:
        holders = np.unique(view.placed.rows[view.placed.values == old])
        for row in holders.tolist():
            pinned.setdefault(row, set()).add(new)
    if not pinned:
        return Ragged.empty(len(table)), np.zeros(0, dtype=np.int64)
    ids = {row: np.array(sorted(found), dtype=np.int32) for row, found in pinned.items()}
    known = {row: sorted(index[view.tree.places(found)].tolist()) for row, found in ids.items()}
    lost = sorted(row for row, found in known.items() if found[0] < 0)
    usable = {row: [b for b in found if b >= 0] for row, found in known.items()}
    offsets = np.zeros(len(table) + 1, dtype=np.int64)
    for row, found in usable.items():
        offsets[row + 1] = len(found)
    values = [b for row in sorted(usable) for b in usable[row]]
    return (
        Ragged(np.cumsum(offsets), np.array(values, dtype=np.int32)),
        np.array(lost, dtype=np.int64),
    )


def _partition_classes(
    view: View, tree: RackTree, leaf: NDArray[np.int64], replicas: NDArray[np.int64]
) -> tuple[tuple[PartitionClass, ...], NDArray[np.int64]]:
    """The partition classes, and the class of each row; `replicas`: of each row."""
    usable = [
        np.bincount(tree.ancestors(tree.depth - 1, level)[leaf], minlength=len(names))
        for level, names in enumerate(tree.names)
    ]
    spreads = [_rack_rules(rules, is_blind=tree is not view.tree) for rules in view.rules]
    codes = {rules: code for code, rules in enumerate(dict.fromkeys(spreads))}
    spread = np.array([codes[rules] for rules in spreads], dtype=np.int64)[view.row_rules]
    if not len(spread):
        return (), spread
    class_of, examples = distinct([spread, replicas])
    classes = tuple(
        PartitionClass.of(tree, usable, spreads[int(view.row_rules[row])], int(replicas[row]))
        for row in examples.tolist()
    )
    return classes, class_of


def _rack_rules(rules: TopicRules, *, is_blind: bool) -> TopicRules:
    """The rules about racks alone; `is_blind`: racks do not count."""
    alone = replace(
        rules, pin=(), leader_racks=(), topic_spread="off", replication=None, exclude=False
    )
    if is_blind:
        return replace(alone, spread=("off",), count=(), count_others="any")
    return alone
