"""Answers of our partitioner to the oracle's questions: `choice.*`."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any

from producer_vectors import GOLDEN, Draws, upstream_load_of, view_of
from rackwise.core.errors import InvalidConfig
from rackwise.core.json import strict as strict_json
from rackwise.core.partitioner import (
    PartitionerConfig,
    QueueEntry,
    TopicPartitioner,
    murmur2,
    partition_for_key,
    upstream_load,
)
from rackwise.core.partitioner.choice.java_client import load_tables

if TYPE_CHECKING:
    from rackwise.core.partitioner import UpstreamLoad
    from rackwise.core.partitioner.choice.java_client import LoadTable


def frozen_choices(operation: str) -> list[dict[str, Any]]:
    """The frozen cases of one operation with upstream's answers."""
    file = GOLDEN.parent / f"{operation}.4.4.0.jsonl"
    _, *lines = file.read_bytes().splitlines()
    return [strict_json.parse(line, where=file.name, error=InvalidConfig) for line in lines]


def our_choice(operation: str, case: dict[str, Any]) -> dict[str, Any]:
    """The case with our answer, in the form of upstream's frozen answer."""
    answer = {
        "choice.key": _key,
        "choice.load": _load,
        "choice.ready": _ready,
        "choice.sticky": _sticky,
    }[operation]
    return {"in": case, "out": answer(case)}


def _config(case: dict[str, Any], sticky_bytes: int) -> PartitionerConfig:
    return PartitionerConfig(
        rack_aware=case["rack_aware"],
        rack=case["rack"],
        sticky_bytes=sticky_bytes,
        semantics="upstream",
    )


def _key(case: dict[str, Any]) -> dict[str, Any]:
    key = b64decode(case["key_base64"])
    return {"murmur2": murmur2(key), "partition": partition_for_key(key, case["count"])}


def _load(case: dict[str, Any]) -> dict[str, Any]:
    return _tables(upstream_load_of(case["load"]), case)


def _tables(load: UpstreamLoad | None, case: dict[str, Any]) -> dict[str, Any]:
    found = load_tables(load, case["rack"] if case["rack_aware"] else None)
    return {
        "total": found and _table(found.total),
        "in_rack": found and found.in_rack and _table(found.in_rack),
    }


def _table(table: LoadTable) -> dict[str, Any]:
    return {"sums": list(table.sums), "partitions": list(table.partitions)}


def _sticky(case: dict[str, Any]) -> dict[str, Any]:
    draws, told = Draws(case["draws"]), []
    partitioner = None
    for step in case["steps"]:
        answer: int | bool | None = None
        if step["op"] == "leaders" and partitioner is None:
            config = _config(case, case["sticky_bytes"])
            partitioner = TopicPartitioner(config, view_of(step), rng=draws)
        elif step["op"] == "leaders":
            partitioner.set_view(view_of(step))
        elif step["op"] == "load":
            partitioner.set_load(upstream_load_of(step["load"]))
        elif step["op"] == "peek":
            answer = partitioner.peek()
        else:
            answer = partitioner.add(step["bytes"], may_switch=step["may_switch"])
        told.append(answer)
    return {"draws": draws.used, "told": told}


def _ready(case: dict[str, Any]) -> dict[str, Any]:
    """One unkeyed window per partition, then queues of the requested sizes."""
    view, draws = view_of(case), Draws(case["draws"])
    partitioner = TopicPartitioner(_config(case, 1), view, rng=draws)
    queues: dict[int, int] = {}
    for _ in range(case["unkeyed"]):
        queues[partitioner.peek()] = 0
        partitioner.add(1)
    queues |= {entry["partition"]: entry["queue"] for entry in case["entries"]}
    entries = [
        QueueEntry(
            partition,
            view.leaders[partition],
            view.leader_rack(partition),
            queue,
            excluded=view.leaders[partition] in case["late"],
        )
        for partition, queue in sorted(queues.items())
    ]
    load = upstream_load(entries, len(view.leaders))
    partitioner.set_load(load)
    picks = []
    for _ in range(case["windows"]):
        picks.append(partitioner.peek())
        partitioner.add(1)
    return _tables(load, case) | {"picks": picks}
