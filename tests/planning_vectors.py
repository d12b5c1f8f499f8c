"""The planner's vectors: clusters, policies and goals as values, and the generated clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rackwise.core.model import Broker, Cluster, Partition, PartitionTable, Topic
from rackwise.core.planning.values import (
    Balance,
    Drain,
    Repair,
    Replace,
    SetReplication,
)
from rackwise.core.policy import policy_of
from rackwise.core.racks import Rack
from rackwise.core.traffic import Price
from vectors import planner_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

    from rackwise.core.planning.values import Goal
    from rackwise.core.policy import Policy

VECTORS: Mapping[str, Any] = planner_vectors()
GB = 10**9
SPREAD_ON = "moves with topic_spread = even"


class Solve(NamedTuple):
    """One solve of a vector: `objective` is a key of its `expect`."""

    name: str
    objective: str
    case: Mapping[str, Any]

    @property
    def expect(self) -> Mapping[str, Any]:
        """What the vector says of it."""
        found: Mapping[str, Any] = self.case["expect"][self.objective]
        return found

    @property
    def minimise(self) -> str:
        """`moves`, `bytes` or `usd`."""
        return self.objective.partition(" ")[0]

    @property
    def text(self) -> str:
        """Name and objective."""
        return f"{self.name}: {self.objective}"


def solves() -> list[Solve]:
    """The 27 solves."""
    return [
        Solve(case["name"], objective, case)
        for case in VECTORS["plans"]
        for objective in case["expect"]
    ]


def cluster_of(case: Mapping[str, Any]) -> Cluster:
    """The cluster of a vector."""
    dead = case.get("dead", ())
    rows = [
        Partition(
            topic=topic,
            partition=number,
            replicas=tuple(replicas),
            leader=None if replicas[0] in dead else replicas[0],
            isr=tuple(b for b in replicas if b not in dead),
            bytes=(size[0] if size else 1) * GB,
        )
        for topic, number, replicas, *size in case["partitions"]
    ]
    return Cluster(
        cluster_id="vectors",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(
            Broker(id=int(id_), rack=Rack(rack), is_live=int(id_) not in dead)
            for id_, rack in sorted(case["brokers"].items(), key=lambda pair: int(pair[0]))
        ),
        topics={row.topic: Topic(name=row.topic, min_insync_replicas=1) for row in rows},
        partitions=PartitionTable.of(rows),
    )


def policy_and_goal(solve: Solve) -> tuple[Policy, Goal]:
    """The policy without what the goal brings, and the goal."""
    table: dict[str, Any] = {
        "format": "rackwise.policy/1",
        "racks": {"levels": solve.case["levels"]},
    }
    goal = _goal(solve.case["goal"])
    block: dict[str, Any] = {"match": ["*"]}
    for key, value in solve.case["policy"].items():
        room, name = key.split(".")
        if key in _BROUGHT.get(type(goal), ()):
            continue
        said = _by_number(value) if name == "pin" else value
        (block if room == "topics" else table.setdefault(room, {}))[name] = said
    if solve.objective == SPREAD_ON:
        block["topic_spread"] = "even"
    return policy_of({**table, "topics": [block]}), goal


def _by_number(pins: Mapping[str, Any]) -> dict[str, Any]:
    return {text.rpartition("-")[2]: ids for text, ids in pins.items()}


_BROUGHT: Mapping[type, tuple[str, ...]] = {
    Drain: ("brokers.drain", "balance.replicas"),
    Repair: ("balance.replicas",),
    Replace: ("brokers.exclude", "balance.replicas"),
    SetReplication: ("topics.replication",),
}


def _goal(text: str) -> Goal:
    words = text.split()
    rebalance = "--rebalance" in words
    if words[0] == "drain":
        return Drain((int(words[1]),), rebalance)
    if words[0] == "replace":
        old, new = words[1].split("=")
        return Replace(((int(old), int(new)),))
    if words[0] == "set-rf":
        glob, count = words[1].split("=")
        return SetReplication(((glob, int(count)),), rebalance)
    return {"balance": Balance(), "repair": Repair()}[words[0]]


def cent_prices(day: date) -> tuple[Price, ...]:
    """One cent per GB out and one per GB in across zones."""
    return (
        Price(
            provider="vectors",
            region="*",
            level="*",
            kind="*",
            nano_usd_per_gb_out=10**7,
            nano_usd_per_gb_in=10**7,
            gb_bytes=GB,
            valid_from=day,
            valid_to=None,
            source="vectors",
            is_checked=True,
            row="vectors:1",
        ),
    )


def generated(
    kind: str, *, brokers: int, racks: int, partitions: int, replication: int
) -> list[list[int]]:
    """Replica lists of a generated cluster, by the recipe of the vector file."""
    draw = _draws()
    lists = [list(range(k, brokers, racks)) for k in range(racks)]
    old = lists if kind in {"random", "lost"} else [found[:-1] for found in lists]
    make: dict[str, Callable[[int], list[int]]] = {
        "random": lambda _: _until_distinct(lambda: draw(brokers), replication),
        "grown": lambda p: _rotated(p, old, replication),
        "lost": lambda p: _rotated(p, old, replication),
        "messy": lambda _: _messy(draw, old, replication),
    }
    return [make[kind](p) for p in range(partitions)]


def _draws() -> Callable[[int], int]:
    state = 1

    def draw(n: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % n

    return draw


def _until_distinct(draw: Callable[[], int], count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        b = draw()
        if b not in found:
            found.append(b)
    return found


def _rotated(p: int, old: list[list[int]], replication: int) -> list[int]:
    racks = len(old)
    found = []
    for j in range(replication):
        rack = old[(p + j) % racks]
        m = len(rack)
        found.append(rack[(p // racks + j * (1 + p // (racks * m))) % m])
    return found


def _messy(draw: Callable[[int], int], old: list[list[int]], replication: int) -> list[int]:
    everyone = sorted(b for rack in old for b in rack)
    if draw(5) == 0:
        return _until_distinct(
            lambda: everyone[min(draw(len(everyone)), draw(len(everyone)))], replication
        )
    first = draw(len(old))
    found = []
    for j in range(replication):
        rack = old[(first + j) % len(old)]
        found.append(rack[min(draw(len(rack)), draw(len(rack)))])
    return found


def checksum(lists: list[list[int]]) -> int:
    """The recipe's checksum."""
    total = sum(
        (p + 1) * sum((j + 1) * broker for j, broker in enumerate(row))
        for p, row in enumerate(lists)
    )
    return total % 1000000007


def generated_cluster(case: Mapping[str, Any]) -> Cluster:
    """A generated cluster of the vector file; 50 partitions to a topic, one byte each."""
    lists = generated(
        case["kind"],
        brokers=case["brokers"],
        racks=case["racks"],
        partitions=case["partitions"],
        replication=case["replication"],
    )
    dead = {0} if case["kind"] == "lost" else set()
    rows = [
        Partition(
            topic=f"t{p // 50}",
            partition=p % 50,
            replicas=tuple(replicas),
            leader=next(b for b in replicas if b not in dead),
            isr=tuple(b for b in replicas if b not in dead),
            bytes=1,
        )
        for p, replicas in enumerate(lists)
    ]
    return Cluster(
        cluster_id="generated",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(
            Broker(id=b, rack=Rack(f"/r{b % case['racks']}"), is_live=b not in dead)
            for b in range(case["brokers"])
        ),
        topics={row.topic: Topic(name=row.topic) for row in rows},
        partitions=PartitionTable.of(rows),
    )
