"""A second, slow audit: one partition at a time, by brute force.

Written from the rules' sentences alone, to be compared with `rackwise.core.audit`. Even shares are
found by trying every way to distribute the replicas, not by water filling.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.policy import AtLeast
from rackwise.core.racks import NO_RACK, level_names
from rackwise.core.rules import RULES
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rackwise.core.model import Broker, Cluster, FairLoads, Partition
    from rackwise.core.policy import Policy, TopicRules

Path = tuple[str, ...]
ORDER = list(RULES)
JUDGED_ELSEWHERE = {"unequal-racks"}
"""A bound, not a count: tests/core/test_boxes.py shows that it is sound."""


class PlainFinding(NamedTuple):
    """One finding, without its severity."""

    rule: str
    topic: str | None
    partition: int | None
    broker: int | None
    level: str | None
    wanted: str
    had: str


@dataclass
class World:
    """A cluster and a policy, with the values that every rule needs."""

    cluster: Cluster
    policy: Policy
    fair: FairLoads | None

    def __post_init__(self) -> None:
        brokers = {broker.id: broker for broker in self.cluster.brokers}
        levels = {id_: b.rack.levels if b.rack else () for id_, b in brokers.items()}
        self.depth = max([1, *map(len, levels.values())])
        self.is_path = any(
            b.rack is not None and b.rack.text.startswith("/") for b in brokers.values()
        )
        self.live = {id_ for id_, broker in brokers.items() if broker.is_live}
        self.usable = self.live - set(self.policy.brokers.drain)
        self.rackless = sorted(id_ for id_, path in levels.items() if not path)
        self.short = {id_: p for id_, p in levels.items() if p and len(p) < self.depth}
        self.paths: dict[int, Path] = {
            id_: (*path, *[path[-1]] * (self.depth - len(path)))
            for id_, path in levels.items()
            if path
        }
        if self.policy.racks.missing == "one-rack":
            self.paths.update(dict.fromkeys(self.rackless, ("",) * self.depth))
        self.levels = level_names(self.depth, self.policy.racks.levels)
        self.partitions = list(self.cluster.partitions)

    def name(self, path: Path) -> str:
        if path[0] == "":
            return NO_RACK
        return "/" + "/".join(path) if self.is_path else path[0]

    def racks(self, depth: int) -> list[Path]:
        heads = {path[:depth] for path in self.paths.values()}
        return sorted(heads, key=lambda head: [segment.encode() for segment in head])

    def rack_called(self, text: str) -> Path:
        return next(
            rack
            for depth in range(1, self.depth + 1)
            for rack in self.racks(depth)
            if self.name(rack) == text
        )

    def rules(self, topic: str) -> TopicRules:
        return self.policy.rules_of(topic, self.levels)

    def min_isr(self, topic: str) -> int | None:
        known = self.cluster.topics.get(topic)
        return known.min_insync_replicas if known else None

    def in_sync(self, p: Partition) -> list[int]:
        return [broker for broker in p.isr if broker in self.live]


def placed(p: Partition) -> list[int]:
    return [broker for broker in p.replicas if broker not in p.adding]


def naive_findings(
    cluster: Cluster, policy: Policy, fair: FairLoads | None = None
) -> list[PlainFinding]:
    """Every finding of every rule, in order."""
    world = World(cluster, policy, fair)
    found = [*whole(world), *loads(world)]
    for p in world.partitions:
        mine = [*spread(world, p), *replicas(world, p), *sync(world, p), *loss(world, p)]
        mine += leaders(world, p)
        found += [PlainFinding(t[0], p.topic, p.partition, None, *t[1:]) for t in mine]
    skipped = skipped_rules(world)
    found = [t for t in found if t.rule not in skipped]
    return sorted(found, key=lambda t: place(world, t))


def place(world: World, t: PlainFinding) -> tuple[object, ...]:
    """Sort key: cluster, topic, partition, rule, level, broker; racks of a level in order."""
    level = -1 if t.level is None else world.levels.index(t.level)
    broker = -1 if t.broker is None else t.broker
    topic = b"" if t.topic is None else t.topic.encode()
    partition = -1 if t.partition is None else t.partition
    return (t.topic is not None, topic, partition, ORDER.index(t.rule), level, broker)


def skipped_rules(world: World) -> set[str]:
    policy = world.policy
    skipped = set(policy.audit.ignore) | JUDGED_ELSEWHERE
    if policy.racks.missing != "error":
        skipped.add("rack-missing")
    if policy.racks.missing == "unaware" and world.live & set(world.rackless):
        skipped |= {"spread-even", "spread-distinct", "spread-at-least", "rack-count"}
    if not world.paths:
        skipped |= {"spread-even", "spread-distinct", "spread-at-least", "rack-count"}
    if any(note.kind == "no-configs" for note in world.cluster.notes):
        skipped.add("throttle-left")
    if world.fair is None:
        skipped |= {"replica-balance", "leader-balance", "topic-spread"}
    if policy.balance.replicas == "off":
        skipped.add("replica-balance")
    if policy.balance.leaders != "even":
        skipped.add("leader-balance")
    if all(world.rules(t).topic_spread == "off" for t in world.cluster.partitions.topics):
        skipped.add("topic-spread")
    return skipped


def whole(world: World) -> Iterator[PlainFinding]:
    cluster = world.cluster
    for id_ in world.rackless:
        if id_ in world.live:
            rack = next(b.rack for b in cluster.brokers if b.id == id_)
            yield PlainFinding(
                "rack-missing", None, None, id_, None, "a rack", "none" if rack is None else "/"
            )
    for id_, path in world.short.items():
        text = "/" + "/".join(path)
        wanted = some(world.depth, "level")
        yield PlainFinding("rack-depth", None, None, id_, None, wanted, f"{len(path)} in {text}")
    unknown = [p for p in world.partitions if p.bytes is None]
    if unknown:
        wanted = f"the size of {some(len(world.partitions), 'partition')}"
        yield PlainFinding(
            "size-unknown", None, None, None, None, wanted, f"{len(unknown)} not known"
        )
    notes = sorted(note.text for note in cluster.notes if note.kind == "not-visible")
    if notes:
        yield PlainFinding(
            "not-visible", None, None, None, None, "all of it visible", "; ".join(notes)
        )
    for broker in cluster.brokers:
        yield from cordons(broker)
    if not any(p.adding or p.removing for p in world.partitions):
        yield from throttles(cluster)


def cordons(broker: Broker) -> Iterator[PlainFinding]:
    closed = [each.path for each in broker.log_dirs if each.is_cordoned]
    if closed:
        rest = [each for each in broker.log_dirs if not each.is_cordoned and each.error is None]
        is_healthy = any(each.error is None for each in broker.log_dirs)
        effect = "; the broker takes no new replicas" if is_healthy and not rest else ""
        paths = ", ".join(map(escaped, closed))
        had = f"{len(closed)} of {some(len(broker.log_dirs), 'log folder')}: {paths}"
        wanted = "no cordoned log folder"
        yield PlainFinding("cordoned", None, None, broker.id, None, wanted, had + effect)


def throttles(cluster: Cluster) -> Iterator[PlainFinding]:
    def texts_of(values: Iterable[tuple[str, str]], noun: str) -> str:
        wanted = [f"{side}.replication.throttled.{noun}" for side in ("leader", "follower")]
        said = dict(values)
        return ", ".join(f"{key}={said[key]}" for key in wanted if said.get(key))

    for id_, values in cluster.configs.brokers.items():
        if had := texts_of(values.items(), "rate"):
            yield PlainFinding("throttle-left", None, None, id_, None, "no throttle", had)
    for topic, values in cluster.configs.topics.items():
        if topic in cluster.partitions.topics and (had := texts_of(values.items(), "replicas")):
            yield PlainFinding("throttle-left", topic, None, None, None, "no throttle", had)


def loads(world: World) -> Iterator[PlainFinding]:
    fair = world.fair
    if fair is None:
        return
    held = [broker for p in world.partitions for broker in placed(p)]
    led = [placed(p)[0] for p in world.partitions if placed(p)]
    for rule, ids, low, high, noun in (
        ("replica-balance", held, fair.low, fair.high, "replica"),
        ("leader-balance", led, fair.leader_low, fair.leader_high, "preferred leadership"),
    ):
        for id_ in {*low, *high}:
            least, most, had = low.get(id_, 0), high.get(id_), ids.count(id_)
            if had < least or (most is not None and had > most):
                wanted = f"{span(least, most)} {noun}{'' if least == most == 1 else 's'}"
                yield PlainFinding(rule, None, None, id_, None, wanted, str(had))
    for topic, caps in fair.topic_caps.items():
        on = [broker for p in world.partitions if p.topic == topic for broker in placed(p)]
        for id_, cap in caps.items():
            if on.count(id_) > cap:
                wanted = f"at most {some(cap, 'replica')}"
                yield PlainFinding(
                    "topic-spread", topic, None, id_, None, wanted, str(on.count(id_))
                )


Part = tuple[str, "str | None", str, str]


def some(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def span(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return str(low) if low == high else f"{low}..{high}"


def off(racks: Iterable[tuple[str, int, int | None, int]]) -> tuple[str, str] | None:
    bad = [r for r in racks if r[3] < r[1] or (r[2] is not None and r[3] > r[2])]
    if not bad:
        return None
    wanted = ", ".join(f"{name} {span(low, high)}" for name, low, high, _ in bad)
    return wanted, ", ".join(f"{name} {count}" for name, _, _, count in bad)


def spread(world: World, p: Partition) -> Iterator[Part]:
    rules = world.rules(p.topic)
    held = [world.paths[broker] for broker in placed(p) if broker in world.paths]
    counted = {len(world.rack_called(count.rack)) for count in rules.count}
    above = 0
    for depth in range(1, world.depth + 1):
        rule = rules.spread[depth - 1]
        level = world.levels[depth - 1]
        here = [path[:depth] for path in held]
        if rule == "even" and depth not in counted:
            for parent in world.racks(above) if above else [()]:
                if texts := uneven(world, p, parent, depth):
                    yield ("spread-even", level, *texts)
        if rule == "distinct" and (
            texts := off((world.name(r), 0, 1, here.count(r)) for r in world.racks(depth))
        ):
            yield ("spread-distinct", level, *texts)
        if isinstance(rule, AtLeast):
            wanted = min(rule.racks, len(placed(p)))
            if len(set(here)) < wanted:
                yield ("spread-at-least", level, some(wanted, "rack"), str(len(set(here))))
        if rule != "off" or depth in counted:
            above = depth
    if rules.count and (texts := miscounted(world, rules, held)) and placed(p):
        level_of = world.levels[counted.pop() - 1] if len(counted) == 1 else None
        yield ("rack-count", level_of, *texts)


def uneven(world: World, p: Partition, parent: Path, depth: int) -> tuple[str, str] | None:
    racks = [rack for rack in world.racks(depth) if rack[: len(parent)] == parent]
    room, counts = [], []
    for rack in racks:
        below = {id_ for id_, path in world.paths.items() if path[:depth] == rack}
        counts.append(len(below & set(placed(p))))
        room.append(len(below & (world.usable | set(placed(p)) - world.usable)))
    total = sum(counts)
    ways = [w for w in product(*(range(r + 1) for r in room)) if sum(w) == total]
    best = min(sum(n * n for n in way) for way in ways)
    fair = [way for way in ways if sum(n * n for n in way) == best]
    return off(
        (world.name(rack), min(w[i] for w in fair), max(w[i] for w in fair), counts[i])
        for i, rack in enumerate(racks)
    )


def miscounted(world: World, rules: TopicRules, held: Sequence[Path]) -> tuple[str, str] | None:
    named = {count.rack: world.rack_called(count.rack) for count in rules.count}
    rows: list[tuple[str, int, int | None, int]] = [
        (c.rack, c.min, c.max, sum(path[: len(named[c.rack])] == named[c.rack] for path in held))
        for c in rules.count
    ]
    if rules.count_others == "none":
        others = [p for p in held if not any(p[: len(r)] == r for r in named.values())]
        rows.append(("others", 0, 0, len(others)))
    return off(rows)


def replicas(world: World, p: Partition) -> Iterator[Part]:
    on = placed(p)
    rules = world.rules(p.topic)
    sizes = [len(placed(other)) for other in world.partitions if other.topic == p.topic]
    wanted = rules.replication or max(sizes, key=lambda size: (sizes.count(size), size))
    if len(on) != wanted:
        yield ("replication", None, some(wanted, "replica"), str(len(on)))
    if dead := sorted(set(on) - world.live):
        yield ("dead-replica", None, "live brokers only", ids(dead))
    if drained := sorted(set(on) & set(world.policy.brokers.drain)):
        yield ("drained-broker", None, "no drained broker", ids(drained))
    pinned = dict(rules.pin).get(p.partition, ())
    if set(pinned) - set(on):
        yield ("pin", None, f"a replica on {ids(pinned)}", ids(sorted(on)))
    if p.adding or p.removing:
        had = f"adding {ids(sorted(p.adding))}, removing {ids(sorted(p.removing))}"
        yield ("reassigning", None, "nothing in motion", had)


def ids(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"


def sync(world: World, p: Partition) -> Iterator[Part]:
    alive, least, size = len(world.in_sync(p)), world.min_isr(p.topic), len(placed(p))
    if p.leader is None:
        yield ("offline", None, "a leader", "none")
    elif least is not None and alive < least:
        yield ("under-min-isr", None, f"{least} in sync", str(alive))
    if len(p.isr) < size:
        yield ("under-replicated", None, f"{size} in sync", str(len(p.isr)))
    if alive == least and least < size:
        yield ("at-min-isr", None, f"more than {least} in sync", str(alive))


def loss(world: World, p: Partition) -> Iterator[Part]:
    wanted_levels = world.policy.audit.rack_loss
    names = (world.levels[-1],) if wanted_levels is None else wanted_levels
    alive, least = world.in_sync(p), world.min_isr(p.topic)
    if p.leader is None or not alive:
        return
    for depth in range(1, world.depth + 1):
        level = world.levels[depth - 1]
        if level not in names:
            continue
        left = {
            rack: [id_ for id_ in alive if world.paths.get(id_, ())[:depth] != rack]
            for rack in world.racks(depth)
        }
        for rack, survivors in left.items():
            if not survivors:
                had = f"all {len(alive)} in {world.name(rack)}"
                yield ("rack-loss-offline", level, "in sync in 2 racks", had)
        if least is not None and len(alive) >= least:
            short = {rack: len(s) for rack, s in left.items() if s and len(s) < least}
            if short:
                had = ", ".join(f"{n} without {world.name(rack)}" for rack, n in short.items())
                yield ("rack-loss-min-isr", level, f"{least} in sync without any one rack", had)


def leaders(world: World, p: Partition) -> Iterator[Part]:
    if not placed(p):
        return
    first = placed(p)[0]
    if first in world.policy.brokers.no_lead:
        yield ("leader-rack", None, "a preferred leader that may lead", str(first))
    for text in world.rules(p.topic).leader_racks:
        rack = world.rack_called(text)
        inside = [id_ for id_, path in world.paths.items() if path[: len(rack)] == rack]
        if set(inside) & set(placed(p)):
            if first not in inside:
                yield ("leader-rack", None, f"a preferred leader in {text}", str(first))
            break
    if p.leader is not None and p.leader != first:
        yield ("not-preferred-leader", None, f"leader {first}", f"leader {p.leader}")
