"""Random choices of producers for upstream: seeded, small, and awkward on purpose."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

RACKS = [
    "a",
    "b",
    "c",
    "A",
    "a ",
    "use1-az1",
    "/eu/a",
    "/eu/a/r7",
    "/eu//a",
    "/",
    "ß",
    "\xa0",
    "😀",
]
MOST_DRAWS = 60
LARGEST = 2**31 - 1


def _draws(rng: Random, count: int = MOST_DRAWS) -> list[int]:
    """Small ones, any, and the ends of the range."""
    return [rng.choice([rng.randrange(20), rng.randrange(2**31), LARGEST, 0]) for _ in range(count)]


def _producer(rng: Random, racks: list[str]) -> dict:
    """Usually rack-aware, in a rack of one of the brokers."""
    return {
        "sticky_bytes": rng.choice([1, 2, 61, 100, 16_384]),
        "rack_aware": rng.random() < 0.8,
        "rack": rng.choice(racks) if rng.random() < 0.9 else "nowhere",
        "draws": _draws(rng),
    }


def _leaders(rng: Random, racks: list[str], partitions: int) -> dict:
    """A view: leader by partition, some without; racks by node, some without."""
    nodes = rng.sample(range(30), rng.randint(1, 8))
    dead = rng.choice([0, 0, 0.2, 0.7, 1])
    rackless = rng.choice([0, 0, 0.3, 1])
    return {
        "leaders": [None if rng.random() < dead else rng.choice(nodes) for _ in range(partitions)],
        "racks": {
            str(node): rng.choice([None, ""]) if rng.random() < rackless else rng.choice(racks)
            for node in nodes
        },
    }


def _load(rng: Random, racks: list[str], view: dict) -> dict | None:
    """Usually the arrays of the partitions with a leader, some left out at the end."""
    if rng.random() < 0.1:
        return None
    led = [p for p, leader in enumerate(view["leaders"]) if leader is not None]
    if rng.random() < 0.3:
        led = rng.sample(led, rng.randint(0, len(led)))
    most = rng.choice([0, 1, 5, 1000])
    is_strange = rng.random() < 0.2
    return {
        "queue_sizes": [rng.randint(0, most) for _ in led],
        "partition_ids": led,
        "leader_racks": [
            rng.choice([*racks, None])
            if is_strange
            else view["racks"][str(view["leaders"][partition])]
            for partition in led
        ],
        "length": len(led) if rng.random() < 0.7 else rng.randint(0, len(led)),
    }


def sticky_case(rng: Random, *, most: int = 40) -> dict:
    """Records, new leaders and new loads in any order."""
    racks = rng.sample(RACKS, rng.randint(1, 4))
    producer = _producer(rng, racks)
    partitions = rng.choice([1, 2, 3, rng.randint(1, most)])
    view = _leaders(rng, racks, partitions)
    steps: list[dict] = [{"op": "leaders", **view}, {"op": "peek"}]
    size = producer["sticky_bytes"]
    for _ in range(rng.randint(5, 40)):
        kind = rng.choices(["add", "peek", "leaders", "load"], [12, 6, 1, 2])[0]
        if kind == "leaders":
            view = _leaders(rng, racks, partitions)
            steps.append({"op": "leaders", **view})
        elif kind == "load":
            steps.append({"op": "load", "load": _load(rng, racks, view)})
        elif kind == "add":
            count = rng.choice([0, 1, size // 3, size - 1, size, 2 * size, 3 * size])
            steps.append({"op": "add", "bytes": count, "may_switch": rng.random() < 0.7})
        else:
            steps.append({"op": "peek"})
    return producer | {"steps": steps}


def load_case(rng: Random, *, most: int = 40) -> dict:
    """One load."""
    racks = rng.sample(RACKS, rng.randint(1, 4))
    view = _leaders(rng, racks, rng.randint(1, most))
    return _producer(rng, racks) | {"draws": [], "load": _load(rng, racks, view)}


def ready_case(rng: Random, *, most: int = 12) -> dict:
    """The queues of an accumulator: some partitions have had no record, some nodes are slow."""
    racks = rng.sample(RACKS, rng.randint(1, 4))
    view = _leaders(rng, racks, rng.randint(1, most))
    producer = _producer(rng, racks)
    every = range(len(view["leaders"]))
    used = every if rng.random() < 0.8 else sorted(rng.sample(every, rng.randint(0, len(every))))
    nodes = [int(node) for node in view["racks"]]
    is_timed = rng.random() < 0.6
    return view | {
        "rack_aware": producer["rack_aware"],
        "rack": producer["rack"],
        "draws": _draws(rng, 120),
        "timeout_ms": 100 if is_timed else 0,
        "late": rng.sample(nodes, rng.randint(0, len(nodes))) if is_timed else [],
        "unkeyed": rng.choice([1, 5, 40]),
        "entries": [{"partition": p, "queue": rng.choice([0, 0, 1, 2, 5])} for p in used],
        "windows": 20,
    }


def key_case(rng: Random) -> dict:
    """A key of 0 to 64 bytes."""
    key = rng.randbytes(rng.randint(0, 64))
    return {"key_base64": b64encode(key).decode(), "count": rng.randint(1, 1000)}
