"""Random messages of Kafka 0.10.0 for upstream: seeded, small, and awkward on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

TEXTS = [
    "",
    "t",
    "a.b",
    "host1",
    "::1",
    "zürich-1",
    "/eu/a/r7",
    "日本",
    "😀",
    "x" * 300,
    "a\u0000b",
]
LARGEST = 2**31 - 1
ERRORS = [0, -1, 3, 5, 9]


def _integer(rng: Random) -> int:
    return rng.choice([0, 1, -1, 7, LARGEST, -LARGEST - 1, rng.randint(-LARGEST, LARGEST)])


def _id(rng: Random) -> int:
    return rng.choice([0, 1, 2, 300, LARGEST])


def _rack(rng: Random) -> str | None:
    return rng.choice([None, *TEXTS])


def header_case(rng: Random) -> dict:
    """A header of any key and version, of a client with an id."""
    return {
        "api_key": rng.choice([0, 3, 6, 68, -1, 2**15 - 1]),
        "api_version": rng.choice([0, 1, 2, -(2**15)]),
        "correlation_id": _integer(rng),
        "client_id": rng.choice(TEXTS),
    }


def metadata_request_case(rng: Random) -> dict:
    """All topics, none or some; of version 1, the only one that upstream still writes."""
    is_all = rng.random() < 0.2
    return {"version": 1, "topics": None if is_all else rng.sample(TEXTS, rng.randint(0, 4))}


def metadata_response_case(rng: Random) -> dict:
    """Brokers with and without racks, topics with and without leaders."""
    return {
        "version": rng.randint(0, 1),
        "brokers": [
            {"id": _id(rng), "host": rng.choice(TEXTS), "port": _integer(rng), "rack": _rack(rng)}
            for _ in range(rng.randint(0, 3))
        ],
        "controller_id": rng.choice([None, 0, 1, LARGEST]),
        "topics": [
            {
                "error_code": rng.choice(ERRORS),
                "topic": rng.choice(TEXTS),
                "is_internal": rng.random() < 0.5,
                "partitions": [
                    {
                        "error_code": rng.choice(ERRORS),
                        "partition": _integer(rng),
                        "leader": rng.choice([-1, 0, 1, LARGEST]),
                        "replicas": [_id(rng) for _ in range(rng.randint(0, 3))],
                        "isr": [_id(rng) for _ in range(rng.randint(0, 3))],
                    }
                    for _ in range(rng.randint(0, 3))
                ],
            }
            for _ in range(rng.randint(0, 3))
        ],
    }


def update_metadata_case(rng: Random) -> dict:
    """States of some partitions and some brokers; without PLAINTEXT, version 0 fails."""
    version = rng.randint(0, 2)
    keys = {(rng.choice(TEXTS), _integer(rng)) for _ in range(rng.randint(0, 3))}
    return {
        "version": version,
        "controller_id": _integer(rng),
        "controller_epoch": _integer(rng),
        "states": [
            {
                "topic": topic,
                "partition": partition,
                "controller_epoch": _integer(rng),
                "leader": _integer(rng),
                "leader_epoch": _integer(rng),
                "isr": [_integer(rng) for _ in range(rng.randint(0, 3))],
                "zk_version": _integer(rng),
                "replicas": rng.sample([0, 1, 2, 300, LARGEST], rng.randint(0, 3)),
            }
            for topic, partition in sorted(keys)
        ],
        "brokers": [
            {"id": broker, "endpoints": _endpoints(rng), "rack": _rack(rng)}
            for broker in rng.sample([0, 1, 2, 300, LARGEST], rng.randint(0, 3))
        ],
    }


def _endpoints(rng: Random) -> list[dict]:
    """Several protocols, usually PLAINTEXT among them."""
    protocols = rng.sample([1, 2, 3, 32767], rng.randint(0, 3))
    if rng.random() < 0.9:
        protocols.insert(rng.randint(0, len(protocols)), 0)
    return [
        {"protocol": protocol, "host": rng.choice(TEXTS), "port": _integer(rng)}
        for protocol in protocols
    ]


def update_metadata_response_case(rng: Random) -> dict:
    """An error code."""
    return {"error_code": rng.choice(ERRORS)}


DRAWN = {
    "wire.header": header_case,
    "wire.metadata_request": metadata_request_case,
    "wire.metadata_response": metadata_response_case,
    "wire.update_metadata": update_metadata_case,
    "wire.update_metadata_response": update_metadata_response_case,
}
