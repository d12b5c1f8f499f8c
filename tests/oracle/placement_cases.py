"""Random requests for placers, for upstream: seeded, small, and awkward on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

RACKS = [
    *["a", "b", "c", "A", "B", "", " a", "r1", "r10", "r2", "/eu/a", "/eu/b", "/us/a"],
    *[
        "use1-az1",
        "use1-az2",
        "use1-az3",
        "ß",
        "é",
        "\ue000",
        "\uffee",
        "😀",
        "𐐷",
        "rack with blanks",
    ],
]
COLLIDING = ["Aa", "BB", "AaAa", "AaBB", "BBAa", "BBBB"]
"""Names that share a bucket of Java's hash table, in twos and fours."""


def _broker_racks(rng: Random, most: int) -> list[list]:
    """[id, rack] in id order: one to twenty brokers, racks of any size."""
    ids = sorted(rng.sample(range(60), rng.randint(1, 20)))
    pool = rng.sample(RACKS if rng.random() < 0.8 else RACKS + COLLIDING, rng.randint(1, most))
    return [[id_, rng.choice(pool)] for id_ in ids]


def _even_racks(rng: Random) -> list[list]:
    """[id, rack] in id order, all racks of one size."""
    racks, size = rng.randint(1, 5), rng.randint(1, 4)
    pool = rng.sample(RACKS, racks)
    return [[i, pool[i % racks]] for i in range(racks * size)]


def kip36_case(rng: Random, *, most: int = 40) -> dict:
    """One request; in about one of ten something is wrong."""
    brokers = _even_racks(rng) if rng.random() < 0.3 else _broker_racks(rng, 8)
    if rng.random() < 0.2:
        brokers = [[id_, None] for id_, _ in brokers]
    if rng.random() < 0.03:
        brokers[rng.randrange(len(brokers))][1] = None
    is_wrong = rng.random() < 0.06
    fixed = rng.random() < 0.6
    return {
        "brokers": brokers,
        "partitions": rng.randint(-1, 2) if is_wrong else rng.randint(1, most),
        "replication": rng.randint(-1, 25) if is_wrong else rng.randint(1, len(brokers)),
        "start": rng.randrange(30) if fixed else None,
        "first_partition": rng.choice([0, 0, -1, len(brokers), rng.randrange(100)]),
        "seed": None if fixed else rng.randrange(-(2**40), 2**40),
    }


def alternate_case(rng: Random) -> dict:
    """Brokers that all have a rack."""
    return {"brokers": _broker_racks(rng, 10)}


def striped_case(rng: Random, *, most: int = 40) -> dict:
    """One request with fenced brokers and brokers without rack; one of ten is wrong."""
    brokers = _broker_racks(rng, 16)
    rackless, fenced = rng.choice([0, 0, 0.2, 1]), rng.choice([0, 0.2, 0.6])
    told = [
        [id_, None if rng.random() < rackless else rack, rng.random() < fenced]
        for id_, rack in brokers
    ]
    rng.shuffle(told)
    is_wrong = rng.random() < 0.05
    return {
        "brokers": told,
        "partitions": rng.randint(1, most),
        "replication": rng.randint(-1, 25) if is_wrong else rng.randint(1, len(told)),
        "rng": {"kind": rng.choice(["java", "mock"]), "seed": rng.randrange(2**40)},
    }
