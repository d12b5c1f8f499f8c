"""A planning problem as columns of integers: the one definition of a legal set.

Search, certificate and check all read it; none of them has rules of its own.

Terms. Usable brokers are live and not to be drained. They are numbered in canonical order: by the
segments of the rack path as UTF-8 bytes, then by id. Partitions are the rows of the table. A set x
of usable brokers is legal for row p, x in X_p, if

- it has `replicas[p]` brokers, all different;
- its numbers in the finest racks keep the rules of the class of p (`partition_class`);
- every broker pinned to p is in it;
- a broker that is not open (excluded) is in it only if p already holds a live replica there.

Each broker of x that p does not hold costs `cost_at`. Keeping and dropping a held replica are free,
unless the instance is one `with_steady_objective`: then every replica has a price (`steady_costs`).

```
usable   0: id 1 /a    1: id 2 /a    2: id 4 /b         broker 3 is dead
held     row 0: {0}    from the list [1 3]              kept or not, broker 0 is free
X_0      {0 2} {1 2}   even over /a /b, 2 replicas      cost 1, 2
```

Limits: this module does not define the load of a broker (`fair_loads` does), and chooses no sets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import PartialRacks
from rackwise.core.model import Ragged
from rackwise.core.planning.problem.copy_prices import CopyCosts
from rackwise.core.planning.problem.goals import resolve_goal
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
    from rackwise.core.planning.problem.steady_costs import SteadyCosts
    from rackwise.core.policy import Policy, TopicRules
    from rackwise.core.traffic import Price


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instance:
    """A planning problem with B usable brokers, P partitions and L finest racks."""

    view: View
    """The cluster and the policy, changed by the goal."""
    goal: Goal
    """What a plan has to reach."""
    minimise: Minimise
    """What a plan makes small."""
    tree: RackTree
    """The racks; a single rack if racks do not count."""
    brokers: NDArray[np.int64]
    """Ids, int64 [B]."""
    leaf: NDArray[np.int64]
    """Finest rack of each broker, int64 [B]."""
    weights: NDArray[np.int64]
    """Weight of each broker, int64 [B]."""
    is_open: NDArray[np.bool_]
    """Whether each broker takes new replicas, bool [B]."""
    classes: tuple[PartitionClass, ...]
    """The partition classes."""
    class_of: NDArray[np.int64]
    """Index into `classes`, int64 [P]."""
    replicas: NDArray[np.int64]
    """Number of replicas of each partition, int64 [P]."""
    held: Ragged
    """Usable brokers that hold each row, ascending."""
    pins: Ragged
    """Usable brokers that must be in the set of each row, ascending."""
    lost_pins: NDArray[np.int64]
    """Rows that are pinned to a broker that is not usable."""
    preferred: NDArray[np.int64]
    """First placed broker of each row, int64 [P], -1 if it is not usable."""
    is_capped: NDArray[np.bool_]
    """Whether topic_spread of each topic is even, bool [topics]."""
    costs: CopyCosts
    """The cost of a new replica."""
    steady: SteadyCosts | None = None
    """The price of replication, the objective after the moves; None if it is none."""
    weight: int = 1
    """How often the cost of a new replica counts."""
    kept: SteadyCosts | None = None
    """What every replica costs, a new one in addition; None if a held replica costs nothing."""

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        policy: Policy,
        goal: Goal,
        *,
        minimise: Minimise = "moves",
        prices: Sequence[Price] = (),
    ) -> Instance:
        """The problem that a goal poses for a cluster and a policy.

        `prices`: rows of one provider, required for dollars. Raises `InvalidConfig`,
        `InvalidPolicy`, `InvalidRack`, `PartialRacks`; `InvalidSnapshot`, `InvalidPrices` if costs
        are unknown.
        """
        resolved = resolve_goal(goal, cluster, policy)
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
        classes, class_of, replicas = _partition_classes(view, tree, leaf)
        weights = resolved.policy.brokers.weights
        closed = np.isin(brokers, resolved.policy.brokers.exclude)
        if resolved.takers is not None:
            closed |= ~np.isin(brokers, resolved.takers)
        first = view.tree.places(view.preferred)
        return cls(
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
            replicas=replicas,
            held=held,
            pins=pins,
            lost_pins=lost_pins,
            preferred=np.where(view.preferred >= 0, index[first], -1),
            is_capped=np.array(
                [view.rules[code].topic_spread == "even" for code in view.topic_rules.tolist()],
                dtype=np.bool_,
            ),
            costs=CopyCosts.of(view, minimise, prices, len(tree.names[-1])),
        )

    def __len__(self) -> int:
        return len(self.class_of)

    @property
    def leaves(self) -> int:
        """The number of finest racks, those without usable brokers included."""
        return len(self.tree.names[-1])

    @property
    def topic(self) -> NDArray[np.int32]:
        """The topic of each row, an index into the table's `topics`."""
        return self.view.table.topic

    def name(self, row: int) -> str:
        """`orders-0`."""
        return self.view.table.name(row)

    def holds(self, rows: NDArray[np.int64], brokers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each row holds a live replica on the usable broker that is aligned with it."""
        return contains(self.held, rows, brokers, len(self.brokers))

    def cost_at(self, rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of a replica of each row in the aligned finest rack, if it is not held."""
        copies = self.costs.at(rows, leaves)
        if self.kept is None:
            return copies
        return copies * self.weight + self.kept.at(rows, leaves)

    def held_cost_at(self, rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of a replica of each row in the aligned finest rack, if it is held."""
        return np.zeros_like(rows) if self.kept is None else self.kept.at(rows, leaves)

    def cost(self, sets: Ragged) -> int:
        """The cost of sets of usable brokers, one for each row."""
        rows, brokers = sets.rows, sets.values.astype(np.int64)
        new = ~self.holds(rows, brokers)
        return sum(self.costs.at(rows[new], self.leaf[brokers[new]]).tolist())

    def with_steady_objective(self, weight: int) -> Instance:
        """The same instance whose cost is the price of replication, plus `weight` for a copy."""
        return replace(self, weight=weight, kept=self.steady)

    def loads(self, sets: Ragged) -> NDArray[np.int64]:
        """The replicas on each usable broker: int64 [B]."""
        return np.bincount(sets.values, minlength=len(self.brokers)).astype(np.int64)

    def leaf_counts(self, sets: Ragged) -> NDArray[np.int64]:
        """The replicas of each row in each finest rack: int64 [P, L]."""
        keys = sets.rows * self.leaves + self.leaf[sets.values]
        flat = np.bincount(keys, minlength=len(sets) * self.leaves)
        return flat.reshape(len(sets), self.leaves).astype(np.int64)

    def legal(self, sets: Ragged) -> NDArray[np.bool_]:
        """Whether the set of each row is in X_p: bool [P]. `sets` contains usable brokers only."""
        rows, brokers = sets.rows, sets.values.astype(np.int64)
        width = len(self.brokers)
        keys = _sorted_keys(sets, width)  # equal neighbours: a broker twice in a row
        is_legal_row = np.ones(len(sets), dtype=np.bool_)
        is_legal_row[keys[1:][keys[1:] == keys[:-1]] // max(width, 1)] = False
        closed = np.flatnonzero(~self.is_open[brokers])
        is_legal_row[rows[closed[~self.holds(rows[closed], brokers[closed])]]] = False
        pinned = self.pins.rows
        is_in = contains(sets, pinned, self.pins.values.astype(np.int64), width)
        is_legal_row[pinned[~is_in]] = False
        is_legal_row[self.lost_pins] = False
        for number, class_ in enumerate(self.classes):
            chosen = np.flatnonzero(self.class_of == number)
            for part in parts(chosen, self.leaves):
                is_legal_row[part] &= class_.fits(self.leaf_counts(sets.take(part)))
        return is_legal_row


def contains(
    sets: Ragged, rows: NDArray[np.int64], brokers: NDArray[np.int64], width: int
) -> NDArray[np.bool_]:
    """Whether each row's set contains the aligned broker; broker numbers are below `width`."""
    if not len(rows):
        return np.zeros(0, dtype=np.bool_)
    keys = _sorted_keys(sets, width)
    wanted = rows * width + brokers
    found = np.searchsorted(keys, wanted)
    is_in: NDArray[np.bool_] = np.append(keys, -1)[found] == wanted
    return is_in


def _sorted_keys(sets: Ragged, width: int) -> NDArray[np.int64]:
    """A number for each row and broker of it, ascending; broker numbers are below `width`."""
    # The stable sort is a merge sort that uses what is in order: it takes one pass if the brokers
    # of each row rise, and little more if only the rows do.
    return np.sort(sets.rows * width + sets.values, kind="stable")


def sets_of(rows: NDArray[np.int64], brokers: NDArray[np.int64], count: int) -> Ragged:
    """Sets from (row, broker) pairs in any order, brokers ascending."""
    order = np.lexsort((brokers, rows))
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=offsets[1:])
    return Ragged(offsets, brokers[order].astype(np.int32))


def parts(rows: NDArray[np.int64], width: int, cells: int = 1 << 23) -> list[NDArray[np.int64]]:
    """Rows in parts whose tables of `width` columns fit into memory."""
    return np.array_split(rows, 1 + len(rows) * width // cells)


def _rack_tree(view: View, minimise: Minimise) -> RackTree:
    """The rack tree; one rack for all brokers if the policy ignores racks or there are none.

    Raises `PartialRacks` if some live brokers have a rack and some have none.
    """
    rackless = view.live & (view.tree.nodes[0] < 0)
    missing = view.policy.racks.missing
    if not rackless.any():
        return view.tree
    racked = view.live & (view.tree.nodes[0] >= 0)
    if minimise == "usd" or (missing == "error" and racked.any()):
        ids = view.tree.brokers[np.flatnonzero(rackless[:-1])].tolist()
        raise PartialRacks(
            f"expected a rack on every live broker, got {counted(len(ids), 'broker')} of "
            f"{int(view.live.sum())} without a rack: "
            f"{', '.join(map(str, ids[:12]))}",
            wanted=int(view.live.sum()),
            had=int(racked.sum()),
            hint='set broker.rack, or racks.missing = "one-rack" or "unaware" in the policy',
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
    view: View, tree: RackTree, leaf: NDArray[np.int64]
) -> tuple[tuple[PartitionClass, ...], NDArray[np.int64], NDArray[np.int64]]:
    """The partition classes, the class of each row, and its number of replicas."""
    by_rules = np.array([rules.replication or 0 for rules in view.rules], dtype=np.int64)
    of_rule = by_rules[view.row_rules]
    replicas = np.where(of_rule > 0, of_rule, view.placed.lengths)
    usable = [
        np.bincount(tree.ancestors(tree.depth - 1, level)[leaf], minlength=len(names))
        for level, names in enumerate(tree.names)
    ]
    spreads = [_rack_rules(rules, is_blind=tree is not view.tree) for rules in view.rules]
    codes = {rules: code for code, rules in enumerate(dict.fromkeys(spreads))}
    spread = np.array([codes[rules] for rules in spreads], dtype=np.int64)[view.row_rules]
    if not len(spread):
        return (), spread, replicas
    class_of, examples = distinct([spread, replicas])
    classes = tuple(
        PartitionClass.of(tree, usable, spreads[int(view.row_rules[row])], int(replicas[row]))
        for row in examples.tolist()
    )
    return classes, class_of, replicas


def _rack_rules(rules: TopicRules, *, is_blind: bool) -> TopicRules:
    """The rules about racks alone; `is_blind`: racks do not count."""
    alone = replace(rules, pin=(), leader_racks=(), topic_spread="off", replication=None)
    if is_blind:
        return replace(alone, spread=("off",), count=(), count_others="any")
    return alone
