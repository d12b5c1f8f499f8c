"""Assigning partitions to members: `python tests/bench/bench_assignors.py`.

100,000 partitions of 100 topics, 1,000 members, the same number in each of 3 racks. Even: two
replicas in two of the racks; skewed: one replica, racks 6:3:1.

Pairs: the best assignment / sticky, first and after 5 % new members; sticky / kafka-python's
cooperative-sticky, 10,000 x 200; sticky with racks / without; range / sticky; best_local / sticky;
sticky and the best assignment / Kafka's own sticky in a warm JVM, left out with KAFKA=0.
Assignments are checked before anything is timed.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from pairs import ROUNDS, compare, seconds, tell

from rackwise.core.assignors import Member, assign_optimal, assign_range, assign_sticky, evaluate

if TYPE_CHECKING:
    from oracle import Oracle
    from rackwise.core.assignors import Members, ReplicaRacks

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "oracle")]

TOPICS, PARTITIONS, MEMBERS = 100, 1_000, 1_000
NEW = MEMBERS // 20
RACKS = "abc"
SKEW = "aaaaaabbbc"
JVM_ROUNDS = {"even": (ROUNDS, 0.2), "skewed": (3, 0.033)}
"""Rounds to warm up and again to measure, and the gate of the best assignment."""
JVM_S = 300.0
CALLS = 1_000


def even(topics: int = TOPICS, partitions: int = PARTITIONS) -> ReplicaRacks:
    """Two replicas, in all pairs of racks."""
    pairs = [(a, b) for a in RACKS for b in RACKS if a != b]
    return {
        f"topic-{topic:03}": [list(pairs[number % len(pairs)]) for number in range(partitions)]
        for topic in range(topics)
    }


def skewed() -> ReplicaRacks:
    """One replica; the first rack has most."""
    return {
        f"topic-{topic:03}": [[SKEW[number % len(SKEW)]] for number in range(PARTITIONS)]
        for topic in range(TOPICS)
    }


def members_of(racks: ReplicaRacks, count: int = MEMBERS) -> Members:
    """Members that all subscribe to all topics, the same number in each rack."""
    topics = tuple(racks)
    return {
        f"member-{number:04}": Member(topics=topics, rack=RACKS[number % len(RACKS)])
        for number in range(count)
    }


def joined(members: Members, racks: ReplicaRacks) -> Members:
    """The group after a round, with new members."""
    made = assign_sticky(members, racks)
    owned = {
        name: replace(member, owned=made.partitions[name], generation=1)
        for name, member in members.items()
    }
    fresh = members_of(racks, NEW)
    return owned | {f"new-{name}": member for name, member in fresh.items()}


WORLDS = {"even": even(), "skewed": skewed()}


def compare_best() -> None:
    """What the proof costs compared with the greedy rule."""
    for world, racks in WORLDS.items():
        first = members_of(racks)
        for when, members in (("first", first), ("5 % new members", joined(first, racks))):
            best, greedy = assign_optimal(members, racks), assign_sticky(members, racks)
            reports = [evaluate(made, members, racks) for made in (best, greedy)]
            if reports[0].local < reports[1].local or reports[0].largest > reports[1].largest:
                raise SystemExit("the best assignment is not the best")
            compare(
                f"assign_optimal / assign_sticky, 100,000 x 1,000, {world}, {when}",
                partial(assign_optimal, members, racks),
                partial(assign_sticky, members, racks),
                gate=0.5,
            )


def compare_kafka_python() -> None:
    """The client's own cooperative-sticky, which ignores racks."""
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

    racks = even(topics=10)
    members = members_of(racks, 200)
    sizes = {topic: set(range(len(rows))) for topic, rows in racks.items()}
    cluster = SimpleNamespace(topics=lambda: set(sizes), partitions_for_topic=sizes.get)
    joining = [
        SimpleNamespace(
            member_id=name,
            metadata=SimpleNamespace(topics=member.topics, owned_partitions=(), generation_id=-1),
        )
        for name, member in members.items()
    ]
    compare(
        "assign_sticky / kafka-python's cooperative-sticky, 10,000 x 200",
        partial(assign_sticky, members, racks),
        lambda: CooperativeStickyAssignor().assign(cluster, joining),
        gate=1 / 20,
        rounds=1,
    )


def compare_racks() -> None:
    """What racks cost sticky, and range compared with it."""
    racks = WORLDS["even"]
    members = members_of(racks)
    rackless = {name: replace(member, rack=None) for name, member in members.items()}
    compare(
        "assign_sticky with racks / without, 100,000 x 1,000, even",
        partial(assign_sticky, members, racks),
        partial(assign_sticky, rackless, racks),
        gate=3,
    )
    compare(
        "assign_range / assign_sticky, both with racks, 100,000 x 1,000, even",
        partial(assign_range, members, racks),
        partial(assign_sticky, members, racks),
        gate=3,
    )


def compare_formula() -> None:
    """The best locality by the formula, from given counts."""
    from rackwise.core.assignors.measure.local_bound import best_local

    racks = WORLDS["skewed"]
    members = members_of(racks)
    kinds = Counter(frozenset(row) for rows in racks.values() for row in rows)
    sizes = Counter(member.rack for member in members.values() if member.rack)
    local = evaluate(assign_optimal(members, racks), members, racks).local
    if best_local(kinds, sizes)[0] != local:
        raise SystemExit("the formula and the best assignment differ")

    def many() -> None:
        for _ in range(CALLS):
            best_local(kinds, sizes)

    ratios = [
        seconds(many) / CALLS / seconds(partial(assign_sticky, members, racks)) for _ in range(3)
    ]
    tell("best_local / assign_sticky, 3 racks, counts given", statistics.median(ratios), gate=1e-3)


def compare_upstream() -> None:
    """The same groups in Java and here, in turn."""
    from golden import upstream

    with (
        tempfile.TemporaryDirectory() as folder,
        upstream(Path(folder), "4.3.1", heap="3g") as oracle,
    ):
        for world, racks in WORLDS.items():
            compare_with(oracle, world, members_of(racks), racks)


def compare_with(oracle: Oracle, world: str, members: Members, racks: ReplicaRacks) -> None:
    """One group: sticky must be equal, then the times of both and of the best assignment."""
    case = {
        "topics": racks,
        "members": [
            {"id": name, "instance": None, "owned": [], "generation": -1}
            | {"topics": member.topics, "rack": member.rack}
            for name, member in members.items()
        ],
    }
    answer = oracle.ask("assign.sticky", case, within_s=JVM_S)["partitions"]
    for name, mine in assign_sticky(members, racks).partitions.items():
        if sorted(map(tuple, answer[name])) != sorted(mine):
            raise SystemExit("sticky and AbstractStickyAssignor differ")
    rounds, best_gate = JVM_ROUNDS[world]
    oracle.ask("time.sticky", case | {"rounds": rounds}, within_s=JVM_S)
    gates = {assign_sticky: 1.0, assign_optimal: best_gate}
    ratios: dict[object, list[float]] = {assign: [] for assign in gates}
    for _ in range(rounds):
        java = oracle.ask("time.sticky", case | {"rounds": 1}, within_s=JVM_S)["ns"][0] / 1e9
        times = {assign: seconds(partial(assign, members, racks)) for assign in gates}
        told = ", ".join(f"{assign.__name__} {taken:.3f} s" for assign, taken in times.items())
        print(f"{world}: AbstractStickyAssignor {java:.3f} s, {told}", file=sys.stderr)
        for assign, taken in times.items():
            ratios[assign].append(taken / java)
    for assign, gate in gates.items():
        pair = f"{assign.__name__} / AbstractStickyAssignor in a warm JVM, 100,000 x 1,000, {world}"
        tell(pair, statistics.median(ratios[assign]), gate=gate)


if __name__ == "__main__":
    compare_best()
    compare_kafka_python()
    compare_racks()
    compare_formula()
    if os.environ.get("KAFKA") == "0":
        print("left out: AbstractStickyAssignor (KAFKA=0)", file=sys.stderr)
    else:
        compare_upstream()
