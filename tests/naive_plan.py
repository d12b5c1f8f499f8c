"""A second, slow planner that tries every placement, for a handful of brokers and partitions.

Written from the rules' sentences alone, to be compared with `rackwise.core.planning`. The slow
audit judges the replica sets. Fair loads are looked up among all load vectors that any placement
has. The cheapest placement is found by adding partitions one by one to all load vectors so far.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import lcm
from typing import TYPE_CHECKING, Any

from naive_audit import World, placed, spread
from naive_scope import NaiveLimits, limited_sets
from rackwise.core.model import Broker, Cluster, Partition
from rackwise.core.policy import Policy, Slack, TopicBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rackwise.core.racks import Rack

Loads = tuple[int, ...]
Cost = tuple[int, ...]


@dataclass(frozen=True)
class Question:
    """The question; `policy` includes the goal: drains, replication, balance off.

    `usd`: rack of the leader, rack of the new replica, bytes -> price. `replace`: old -> new
    broker; a partition on an old one must be on its new one.
    """

    cluster: Cluster
    policy: Policy
    minimise: str = "moves"
    usd: Callable[[Rack | None, Rack | None, int], int] = field(default=lambda *_: 0)
    replace: Mapping[int, int] = field(default_factory=dict)
    keeps_sets: bool = False
    limits: NaiveLimits | None = None
    """What a limited goal names; None if every partition must keep the rules."""
    day: Callable[[Rack | None, Rack | None, int], int] | None = None
    """Rack of the leader, rack of a follower, bytes per second -> price of a day."""

    @cached_property
    def world(self) -> World:
        return World(self.cluster, self.policy, None)

    @cached_property
    def brokers(self) -> tuple[int, ...]:
        return tuple(sorted(self.world.usable))

    @cached_property
    def partitions(self) -> list[Partition]:
        return self.world.partitions

    def held(self, p: Partition) -> frozenset[int]:
        """S_p: its live placed brokers."""
        return frozenset(placed(p)) & self.world.live

    @cached_property
    def cordoned(self) -> set[int]:
        """Brokers that take nothing new, and that no changed list may name."""
        return {broker.id for broker in self.cluster.brokers if broker.is_cordoned}

    def is_excluded(self, p: Partition) -> bool:
        return self.world.rules(p.topic).exclude

    def size(self, p: Partition) -> int:
        return self.world.rules(p.topic).replication or len(placed(p))

    @cached_property
    def options(self) -> list[list[frozenset[int]]]:
        """X_p of each partition."""
        return [list(self._legal_sets(p)) for p in self.partitions]

    def _legal_sets(self, p: Partition) -> Iterator[frozenset[int]]:
        if self.keeps_sets:
            yield frozenset(placed(p))
            return
        if self.is_excluded(p):
            yield self.held(p) & set(self.brokers)
            return
        if self.limits is not None:
            yield from limited_sets(self, self.limits, p)
            return
        pinned = set(dict(self.world.rules(p.topic).pin).get(p.partition, ()))
        pinned |= {self.replace[id_] for id_ in placed(p) if id_ in self.replace}
        closed = set(self.policy.brokers.exclude) | self.cordoned
        free = set(self.brokers) - (closed - self.held(p))
        found = [
            frozenset(chosen)
            for chosen in combinations(sorted(free), self.size(p))
            if pinned <= set(chosen) and self.keeps_spread(p, chosen)
        ]
        if self.cordoned & set(placed(p)):
            now = frozenset(placed(p))
            found = [now] if now in found else [x for x in found if not x & self.cordoned]
        yield from found

    def keeps_spread(self, p: Partition, chosen: tuple[int, ...]) -> bool:
        """Whether the slow audit has no finding about racks."""
        world = self.world
        if not world.paths:
            return True
        if self.policy.racks.missing == "unaware" and world.live & set(world.rackless):
            return True
        alone = Partition(topic=p.topic, partition=p.partition, replicas=chosen)
        return not list(spread(world, alone))

    @cached_property
    def impossible(self) -> list[str]:
        return [
            f"{p.topic}-{p.partition}"
            for p, sets in zip(self.partitions, self.options, strict=True)
            if not sets
        ]

    def leader(self, p: Partition) -> int | None:
        """The source of a new replica: the leader, or the first live replica in sync."""
        if p.leader is not None:
            return p.leader
        return next((id_ for id_ in placed(p) if id_ in self.world.in_sync(p)), None)

    def price(self, p: Partition, broker: int) -> int:
        """w of one partition and one broker that does not hold it."""
        if self.minimise == "moves":
            return 1
        if self.minimise == "bytes":
            return p.bytes or 0
        racks = {b.id: b.rack for b in self.cluster.brokers}
        leader = self.leader(p)
        return self.usd(None if leader is None else racks[leader], racks[broker], p.bytes or 0)

    def is_frozen(self, p: Partition) -> bool:
        """Whether the partition keeps its list, dead replicas included."""
        if self.is_excluded(p):
            return True
        is_on_cordoned = bool(self.cordoned & set(placed(p)))
        if self.limits is None:
            return is_on_cordoned and frozenset(placed(p)) in set(self._legal_sets(p))
        if self.limits.touches(p):
            return False
        is_whole = len(self.held(p) & set(self.brokers)) == len(placed(p))
        return not (self.limits.balances and is_whole) or is_on_cordoned

    def cost(self, p: Partition, chosen: frozenset[int]) -> int:
        return sum(self.price(p, id_) for id_ in chosen - self.held(p))

    @property
    def has_replication(self) -> bool:
        """Whether the price of replication is an objective."""
        return (
            self.day is not None
            and self.minimise == "moves"
            and any(p.bytes_in_per_s for p in self.partitions)
        )

    def expected_leader(self, p: Partition) -> int | None:
        """Who leads before the set is known: the preferred leader, else the first that may."""
        heirs = [self.replace[id_] for id_ in placed(p)[:1] if id_ in self.replace]
        usable = [id_ for id_ in placed(p) if id_ in self.brokers]
        if self.is_frozen(p):
            return next((id_ for id_ in placed(p)[:1] if id_ in usable), None)
        usable = [id_ for id_ in usable if id_ not in self.cordoned]
        leading = [id_ for id_ in usable if id_ not in self.policy.brokers.no_lead]
        return next(iter([*heirs, *(leading or usable)]), None)

    def replication(self, p: Partition, chosen: frozenset[int]) -> int:
        """The price of a day of replication, 0 for an unknown rate."""
        leader = self.expected_leader(p)
        if self.day is None or p.bytes_in_per_s is None or leader is None:
            return 0
        racks = {b.id: b.rack for b in self.cluster.brokers}
        return sum(self.day(racks[leader], racks[id_], p.bytes_in_per_s) for id_ in chosen)

    def whole_cost(self, p: Partition, chosen: frozenset[int]) -> Cost:
        """What is minimised, in order, without squares.

        Cost, replication if it is an objective, the other cost, leader, touched.
        """
        added = chosen - self.held(p)
        second = (p.bytes or 0) * len(added) if self.minimise == "moves" else len(added)
        preferred = next(iter(placed(p)), None)
        dropped = preferred is not None and preferred not in chosen
        replication = (self.replication(p, chosen),) if self.has_replication else ()
        is_frozen = self.is_frozen(p)
        touched = chosen != set(placed(p)) and not is_frozen
        rest = (second, int(dropped and not is_frozen), int(touched))
        return (self.cost(p, chosen), *replication, *rest)

    @cached_property
    def weights(self) -> dict[int, int]:
        return {id_: self.policy.brokers.weights.get(id_, 1) for id_ in self.brokers}

    def unevenness(self, loads: Loads) -> int:
        whole = lcm(*self.weights.values())
        return sum(
            n * n * whole // self.weights[id_] for id_, n in zip(self.brokers, loads, strict=True)
        )

    @cached_property
    def caps(self) -> dict[str, dict[int, int]]:
        """Topic -> broker -> most replicas that the broker may have if the topic is alone."""
        found = {}
        for topic in sorted({p.topic for p in self.partitions}):
            if self.world.rules(topic).topic_spread == "even":
                rows = [i for i, p in enumerate(self.partitions) if p.topic == topic]
                fair = self._fairest(self._reach(rows, lambda *_: (), {}))
                found[topic] = {
                    id_: max(loads[i] for loads in fair) for i, id_ in enumerate(self.brokers)
                }
        return found

    def _reach(
        self,
        rows: Iterable[int],
        cost: Callable[[Partition, frozenset[int]], Cost],
        caps: Mapping[str, Mapping[int, int]],
    ) -> dict[Loads, Counter[Cost]]:
        """Every load vector -> the number of cheapest placements that have it."""
        zero = tuple(0 for _ in self.brokers)
        reached: dict[tuple[Loads, Loads], Counter[Cost]] = {(zero, zero): Counter({(): 1})}
        topic = None
        for row in rows:
            p = self.partitions[row]
            if p.topic != topic:
                topic, reached = p.topic, _merged((((k[0], zero), v) for k, v in reached.items()))
            cap = caps.get(p.topic, {})
            steps: list[tuple[tuple[Loads, Loads], Counter[Cost]]] = []
            for (loads, own), best in reached.items():
                for chosen in self.options[row]:
                    ours = tuple(
                        n + (id_ in chosen) for id_, n in zip(self.brokers, own, strict=True)
                    )
                    most = [cap.get(id_, n) for id_, n in zip(self.brokers, ours, strict=True)]
                    if any(n > m for n, m in zip(ours, most, strict=True)):
                        continue
                    whole = tuple(
                        n + (id_ in chosen) for id_, n in zip(self.brokers, loads, strict=True)
                    )
                    more = cost(p, chosen)
                    steps.append(
                        (
                            (whole, ours),
                            Counter({_sum(had, more): n for had, n in best.items()}),
                        )
                    )
            reached = _merged(steps)
        return {
            k[0]: v for k, v in _merged((((k[0], zero), v) for k, v in reached.items())).items()
        }

    def _fairest(self, reached: Mapping[Loads, object]) -> list[Loads]:
        least = min((self.unevenness(loads) for loads in reached), default=0)
        return [loads for loads in reached if self.unevenness(loads) == least]

    @cached_property
    def all_loads(self) -> dict[Loads, Counter[Cost]]:
        """Loads of every placement -> its cheapest cost alone, and how many placements have it."""
        return self._reach(range(len(self.partitions)), lambda p, x: (self.cost(p, x),), self.caps)

    @cached_property
    def fair(self) -> list[Loads]:
        """The fair load vectors, aligned with `brokers`."""
        return self._fairest(self.all_loads)

    def low_high(self) -> dict[int, tuple[int, int]]:
        """The least and greatest load of fair placements, without slack."""
        return {
            id_: (min(loads[i] for loads in self.fair), max(loads[i] for loads in self.fair))
            for i, id_ in enumerate(self.brokers)
        }

    def is_allowed(self, loads: Loads) -> bool:
        rule = self.policy.balance.replicas
        if rule == "off" or self.keeps_sets:
            return True
        if isinstance(rule, Slack):
            box = self.low_high()
            return all(
                box[id_][0] - rule.replicas <= n <= box[id_][1] + rule.replicas
                for id_, n in zip(self.brokers, loads, strict=True)
            )
        return loads in set(self.fair)

    def minimum(self) -> int:
        """The least cost of all placements with allowed loads."""
        allowed = {n: best for n, best in self.all_loads.items() if self.is_allowed(n)}
        return min(next(iter(best))[0] for best in allowed.values())

    def optimal_placements(self) -> int:
        least = self.minimum()
        return sum(
            best[(least,)] for loads, best in self.all_loads.items() if self.is_allowed(loads)
        )

    def secondary(self) -> Cost:
        """The best in order of `whole_cost`; with balance off also squares.

        Squares come after moves and replication, and before bytes.
        """
        reached = self._reach(range(len(self.partitions)), self.whole_cost, self.caps)
        off = self.policy.balance.replicas == "off"
        needed = 1 + (self.minimise != "moves") + self.has_replication
        found = []
        for loads, best in reached.items():
            if self.is_allowed(loads):
                cost = min(best)
                squares = (sum(n * n for n in loads),) if off else ()
                found.append((cost[:needed], squares, cost[needed:]))
        first, squares, rest = min(found)
        return (*first, *squares, *rest)

    def bound_without_prices(self) -> int:
        return sum(
            min(self.cost(p, chosen) for chosen in sets)
            for p, sets in zip(self.partitions, self.options, strict=True)
        )

    def placements(self) -> int:
        count = 1
        for sets in self.options:
            count *= len(sets)
        return count

    def whole_sets(self, row: int) -> list[frozenset[int]]:
        """The legal sets of a row, with the unusable brokers of a list that must not change."""
        p = self.partitions[row]
        return [frozenset(placed(p))] if self.is_frozen(p) else self.options[row]

    def is_legal(self, row: int, chosen: Iterable[int]) -> bool:
        return frozenset(chosen) in set(self.options[row])

    def lower_bound(
        self,
        prices: Mapping[int, int],
        groups: Iterable[tuple[Mapping[int, int], Mapping[int, int], int]],
        topic_prices: Mapping[tuple[str, int], int],
    ) -> int:
        """The lower bound from prices; groups: low and high by broker, and their total."""
        bound = 0
        for p, sets in zip(self.partitions, self.options, strict=True):
            bound += min(
                self.cost(p, chosen)
                + sum(prices.get(b, 0) + topic_prices.get((p.topic, b), 0) for b in chosen)
                for chosen in sets
            )
        for low, high, total in groups:
            spare = sorted(
                (prices.get(b, 0) for b in low for _ in range(high[b] - low[b])), reverse=True
            )
            bound -= sum(low[b] * prices.get(b, 0) for b in low)
            bound -= sum(spare[: total - sum(low.values())])
        for (topic, broker), price in topic_prices.items():
            bound -= self.caps[topic][broker] * price
        return bound


def _sum(a: Cost, b: Cost) -> Cost:
    return tuple(map(int.__add__, a, b)) if a else b


def _merged(
    steps: Iterable[tuple[tuple[Loads, Loads], Counter[Cost]]],
) -> dict[tuple[Loads, Loads], Counter[Cost]]:
    """One entry for each key: the least cost, and in how many ways it is reached."""
    found: dict[tuple[Loads, Loads], Counter[Cost]] = {}
    for key, best in steps:
        had = found.get(key)
        cost = min(best)
        if had is None or cost < min(had):
            found[key] = Counter({cost: best[cost]})
        elif cost == min(had):
            had[cost] += best[cost]
    return found


def of_goal(cluster: Cluster, policy: Policy, goal: Any, **more: Any) -> Question:
    """The question of a goal, by its name."""
    name = type(goal).__name__
    brokers, balance = policy.brokers, policy.balance
    quiet = replace(balance, replicas="off", leaders="keep")
    if not getattr(goal, "rebalance", name in {"Balance", "Add", "Leaders"}):
        balance = quiet
    if name == "Drain":
        brokers = replace(brokers, drain=tuple(sorted({*brokers.drain, *goal.brokers})))
    if name == "Replace":
        brokers = replace(brokers, drain=tuple(sorted({*brokers.drain, *dict(goal.pairs)})))
        more["replace"] = dict(goal.pairs)
    topics = policy.topics
    if name == "SetReplication":
        topics = (*topics, *(_replication_block(glob, n) for glob, n in goal.by_topic))
    if name == "Add":
        cluster = replace(
            cluster,
            brokers=(*cluster.brokers, *(Broker(id=i, rack=rack) for i, rack in goal.brokers)),
        )
    if name in {"Drain", "Replace", "SetReplication", "Add"} and not goal.repair:
        leaving = goal.brokers if name == "Drain" else dict(getattr(goal, "pairs", ()))
        more["limits"] = NaiveLimits(
            leaving=frozenset(() if name == "Add" else leaving),
            sizes=getattr(goal, "by_topic", ()),
            balances=getattr(goal, "rebalance", name == "Add"),
        )
    asked = replace(policy, brokers=brokers, balance=balance, topics=topics)
    return Question(cluster, asked, keeps_sets=name == "Leaders", **more)


def _replication_block(glob: str, replication: int) -> Any:
    return TopicBlock(match=(glob,), replication=replication)
