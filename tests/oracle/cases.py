"""The cases asked of upstream, each an operation and its input; seeded, so they never drift."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE = "4.3.1"

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
