"""The cases asked of upstream, each an operation and its input; seeded, so they never change."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from choice_cases import key_case, load_case, ready_case, sticky_case
from group_cases import coordinated_case, group_case, only_what_exists
from identity_cases import (
    config_case,
    properties_case,
    read_case,
    registration_case,
    write_case,
)
from placement_cases import alternate_case, kip36_case, striped_case
from server_cases import server_case
from wire_cases import DRAWN as MESSAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

LINES = {
    "assign.cooperative": "4.3.1",
    "assign.range": "4.3.1",
    "assign.roundrobin": "4.3.1",
    "assign.sticky": "4.3.1",
    "choice.key": "4.4.0",
    "choice.load": "4.4.0",
    "choice.ready": "4.4.0",
    "choice.sticky": "4.4.0",
    "config.read": "3.9.2",
    "coordinator.range": "4.3.1",
    "coordinator.uniform": "4.3.1",
    "meta.read": "3.9.2",
    "meta.write": "3.9.2",
    "place.alternate": "3.9.2",
    "place.kip36": "3.9.2",
    "place.striped": "4.3.1",
    "properties.read": "3.9.2",
    "reassignment.read": "4.3.1",
    "reassignment.write": "4.3.1",
    "registration.read": "3.9.2",
    "server.optimal": "4.3.1",
    "server.sticky": "4.3.1",
    "wire.header": "0.10.0.1",
    "wire.metadata_request": "0.10.0.1",
    "wire.metadata_response": "0.10.0.1",
    "wire.update_metadata": "0.10.0.1",
    "wire.update_metadata_response": "0.10.0.1",
}
"""Which Kafka line answers an operation."""
JUDGES = {
    "assign": ("kafka-clients",),
    "choice": ("kafka-clients",),
    "config": ("kafka_2.13",),
    "coordinator": ("kafka-group-coordinator",),
    "meta": ("kafka-metadata",),
    "place": ("kafka-metadata", "kafka-server-common"),
    "properties": (),
    "reassignment": ("kafka-tools", "kafka-clients", "jackson-databind"),
    "registration": ("kafka_2.13",),
    "server": ("kafka-group-coordinator-api",),
    "wire": ("kafka-clients",),
}
"""The jars that an answer comes from, by the first word of the operation; none = Java itself."""
PLACEMENTS, ALTERNATIONS, GROUPS = 500, 100, 60
CHOICES, QUEUES = 200, 60
FILES_OF_BROKERS, METAS_WRITTEN = 120, 20
MESSAGES_OF_A_KIND = 60
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
SIX_BROKERS = {
    "leaders": [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5],
    "racks": {"0": "a", "1": "b", "2": "c", "3": "a", "4": "b", "5": "c"},
    "rack_aware": True,
    "rack": "a",
    "draws": list(range(100)),
    "timeout_ms": 0,
    "late": [],
}
QUEUES_OF_UPSTREAM = {
    "only nearby partitions had records": SIX_BROKERS
    | {
        "unkeyed": 60,
        "entries": [{"partition": 0, "queue": 5}],
        "windows": 19,
    },
    "not rack-aware, all partitions had records": SIX_BROKERS
    | {
        "rack_aware": False,
        "unkeyed": 60,
        "entries": [{"partition": 0, "queue": 5}],
        "windows": 19,
    },
    "a late node's queue is left in its slot": {
        "leaders": [0, 1, 2],
        "racks": {},
        "rack_aware": False,
        "rack": None,
        "draws": list(range(100)),
        "timeout_ms": 100,
        "late": [0],
        "unkeyed": 1,
        "entries": [
            {"partition": 0, "queue": 5},
            {"partition": 1, "queue": 0},
            {"partition": 2, "queue": 1},
        ],
        "windows": 6,
    },
}
"""What upstream's accumulator makes of its queues, where reading its source said so."""


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
    yield from _groups()
    rng = Random(1123)
    for _ in range(CHOICES):
        yield "choice.sticky", sticky_case(rng, most=MOST_PARTITIONS)
        yield "choice.load", load_case(rng, most=MOST_PARTITIONS)
        yield "choice.key", key_case(rng)
    for _ in range(QUEUES):
        yield "choice.ready", ready_case(rng)
    for case in QUEUES_OF_UPSTREAM.values():
        yield "choice.ready", case
    yield from _identities()
    yield from _messages()


def _groups() -> Iterator[tuple[str, dict]]:
    """Groups for the assignors of clients, for those of the coordinator, and for ours there."""
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
    rng = Random(848)
    for _ in range(GROUPS):
        case = coordinated_case(rng, most=MOST_PARTITIONS // 2)
        yield "coordinator.range", case
        yield "coordinator.uniform", case
    rng = Random(848)
    for _ in range(GROUPS):
        case = server_case(rng, most=MOST_PARTITIONS // 2)
        yield "server.optimal", case
        yield "server.sticky", case


def _identities() -> Iterator[tuple[str, dict]]:
    """What a broker reads before it knows its id."""
    rng = Random(426)
    for _ in range(FILES_OF_BROKERS):
        yield "properties.read", properties_case(rng)
        yield "meta.read", read_case(rng)
        yield "config.read", config_case(rng)
        yield "registration.read", registration_case(rng)
    for _ in range(METAS_WRITTEN):
        yield "meta.write", write_case(rng)


def _messages() -> Iterator[tuple[str, dict]]:
    """What brokers and clients of 0.10.0 send each other."""
    rng = Random(836)
    for operation, drawn in MESSAGES.items():
        for _ in range(MESSAGES_OF_A_KIND):
            yield operation, drawn(rng)
