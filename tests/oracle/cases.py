"""The cases asked of upstream, each an operation and its input; seeded, so they never drift."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from group_cases import group_case, only_what_exists
from placement_cases import alternate_case, kip36_case, striped_case

if TYPE_CHECKING:
    from collections.abc import Iterator

LINES = {
    "assign.cooperative": "4.3.1",
    "assign.range": "4.3.1",
    "assign.roundrobin": "4.3.1",
    "assign.sticky": "4.3.1",
    "place.alternate": "3.9.2",
    "place.kip36": "3.9.2",
    "place.striped": "4.3.1",
    "reassignment.read": "4.3.1",
    "reassignment.write": "4.3.1",
}
"""Which Kafka line answers an operation."""
JUDGES = {
    "assign": ("kafka-clients",),
    "place": ("kafka-metadata", "kafka-server-common"),
    "reassignment": ("kafka-tools", "kafka-clients", "jackson-databind"),
}
"""The jars that an answer comes from, by the first word of the operation."""
PLACEMENTS, ALTERNATIONS, GROUPS = 500, 100, 60
MOST_PARTITIONS = 16
"""Of one frozen case."""

FILES = {
    "one partition": '{"version":1,"partitions":[{"topic":"e","partition":0,"replicas":[3,1]}]}',
    "no version": '{"partitions":[{"topic":"e","partition":0,"replicas":[1]}]}',
    "any folder": '{"version":1,"partitions":'
    '[{"topic":"e","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}',
    "version 2": '{"version":2,"partitions":[{"topic":"e","partition":0,"replicas":[1]}]}',
    "nothing to do": '{"version":1,"partitions":[]}',
    "broker twice": '{"version":1,"partitions":[{"topic":"e","partition":0,"replicas":[3,3]}]}',
    "no replicas": '{"version":1,"partitions":[{"topic":"e","partition":0,"replicas":[]}]}',
    "partition twice": '{"version":1,"partitions":[{"topic":"e","partition":0,"replicas":[1]},'
    '{"topic":"e","partition":0,"replicas":[2]}]}',
    "fewer folders than replicas": '{"version":1,"partitions":'
    '[{"topic":"e","partition":0,"replicas":[1,2],"log_dirs":["any"]}]}',
    "not JSON": '{"version":1,"partitions":[',
}


def random_rows(rng: Random) -> list[dict]:
    """A random reassignment with names that sort awkwardly."""
    names = rng.sample(["a", "a.b", "a-1", "a_1", "B", "b", "orders", "z" * 40], rng.randint(1, 5))
    return [
        {
            "topic": name,
            "partition": partition,
            "replicas": rng.sample(range(20), rng.randint(1, 5)),
        }
        for name in names
        for partition in rng.sample(range(120), rng.randint(1, 8))
    ]


def cases() -> Iterator[tuple[str, dict]]:
    """Every case: (operation, input)."""
    rng = Random(20)
    for _ in range(20):
        yield "reassignment.write", {"partitions": random_rows(rng)}
    for text in FILES.values():
        yield "reassignment.read", {"json": text}
    rng = Random(36)
    for _ in range(PLACEMENTS):
        yield "place.kip36", kip36_case(rng, most=MOST_PARTITIONS)
        yield "place.striped", striped_case(rng, most=MOST_PARTITIONS)
    for _ in range(ALTERNATIONS):
        yield "place.alternate", alternate_case(rng)
    rng = Random(881)
    for _ in range(GROUPS):
        case = group_case(rng, most=MOST_PARTITIONS // 2)
        yield "assign.range", case
        yield "assign.roundrobin", case
    rng = Random(429)
    for _ in range(GROUPS):
        case = only_what_exists(group_case(rng, most=MOST_PARTITIONS // 2))
        yield "assign.sticky", case
        yield "assign.cooperative", case
