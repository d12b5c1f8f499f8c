"""A second, slow blast radius: one rack after the other, one partition at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from naive_audit import Path, World, placed

if TYPE_CHECKING:
    from rackwise.core.model import Cluster
    from rackwise.core.policy import Policy


@dataclass(frozen=True)
class Lost:
    """What the loss of one rack does."""

    rack: str
    level: int
    brokers: tuple[int, ...]
    offline: list[tuple[str, int]]
    under_min_isr: list[tuple[str, int]]
    leaders_lost: int
    top_survivor: tuple[int, int] | None
    replicas_lost: int
    bytes_to_restore: int
    unknown_sizes: int


def naive_blast_radius(cluster: Cluster, policy: Policy) -> list[Lost]:
    """The loss of each rack, one after the other."""
    world = World(cluster, policy, None)
    racks = [rack for depth in range(1, world.depth + 1) for rack in world.racks(depth)]
    racks.sort(key=lambda rack: [segment.encode() for segment in rack])
    return [lose(world, rack) for rack in racks]


def lose(world: World, rack: Path) -> Lost:
    dead = sorted(id_ for id_, path in world.paths.items() if path[: len(rack)] == rack)
    offline, under = [], []
    led: dict[int, int] = {}
    for p in world.partitions:
        if p.leader is None:
            continue
        left = [id_ for id_ in world.in_sync(p) if id_ not in dead]
        least = world.min_isr(p.topic)
        if not left:
            offline.append((p.topic, p.partition))
        elif least is not None and len(left) < least:
            under.append((p.topic, p.partition))
        successors = [id_ for id_ in p.replicas if id_ in left]
        leader = p.leader if p.leader not in dead else next(iter(successors), None)
        if leader in world.live:
            led[leader] = led.get(leader, 0) + 1
    top = min(led, key=lambda id_: (-led[id_], id_), default=None)
    gone = [p for p in world.partitions for id_ in placed(p) if id_ in dead]
    return Lost(
        rack=world.name(rack),
        level=len(rack),
        brokers=tuple(dead),
        offline=offline,
        under_min_isr=under,
        leaders_lost=sum(p.leader in dead for p in world.partitions),
        top_survivor=None if top is None else (top, led[top]),
        replicas_lost=len(gone),
        bytes_to_restore=sum(p.bytes for p in gone if p.bytes is not None),
        unknown_sizes=sum(p.bytes is None for p in gone),
    )
