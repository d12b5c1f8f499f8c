"""The producers' golden vectors, `golden/vectors-producer.json`, and steps run on a partitioner."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rackwise.core.errors import InvalidConfig
from rackwise.core.json import strict as strict_json
from rackwise.core.partitioner import (
    PartitionerConfig,
    PartitionLoad,
    TopicPartitioner,
    TopicView,
    UpstreamLoad,
)

GOLDEN = Path(__file__).parent / "golden" / "vectors-producer.json"


def producer_vectors() -> dict[str, Any]:
    """All lists of the file."""
    found: dict[str, Any] = strict_json.parse(
        GOLDEN.read_bytes(), where=GOLDEN.name, error=InvalidConfig
    )
    return found


class Draws:
    """The n-th draw is n, or the n-th of a list; `used` counts them."""

    def __init__(self, listed: list[int] | None = None) -> None:
        self._listed = listed
        self.used = 0

    def getrandbits(self, bits: int) -> int:
        assert bits == 31
        self.used += 1
        return self.used - 1 if self._listed is None else self._listed[self.used - 1]


def view_of(step: dict[str, Any]) -> TopicView:
    """A `leaders` step as a view."""
    racks = {int(node): rack for node, rack in step["racks"].items()}
    return TopicView(tuple(step["leaders"]), racks)


def upstream_load_of(arrays: dict[str, Any] | None) -> UpstreamLoad | None:
    """The arrays of `updatePartitionLoadStats`."""
    if arrays is None:
        return None
    return UpstreamLoad(
        tuple(arrays["queue_sizes"]),
        tuple(arrays["partition_ids"]),
        tuple(arrays["leader_racks"]),
        arrays["length"],
    )


def kip_load_of(told: dict[str, Any]) -> PartitionLoad:
    """Outstanding windows and excluded nodes."""
    windows = {int(partition): size for partition, size in told["sizes"].items()}
    return PartitionLoad(windows, frozenset(told["excluded_nodes"]))


class StepRunner:
    """Runs the steps of one vector under one semantics, and checks what they expect."""

    def __init__(self, config: dict[str, Any], semantics: str) -> None:
        self.config = PartitionerConfig(**config, semantics=semantics)
        self.semantics = semantics
        self.draws = Draws()
        self.partitioner: TopicPartitioner | None = None

    def run(self, steps: list[dict[str, Any]]) -> None:
        for number, step in enumerate(steps):
            told = getattr(self, {"draws": "draws_used"}.get(step["op"], step["op"]))(step)
            self.judge(step, told, f"{self.semantics}, step {number}: {step}")

    def judge(self, step: dict[str, Any], told: Any, where: str) -> None:
        for name in ("expect", "expect_frequency"):
            given = step.get(f"{name}_by_semantics", {}).get(self.semantics, step.get(name))
            if given is None:
                continue
            had = dict(Counter(told)) if name == "expect_frequency" else told
            if isinstance(given, list) and name == "expect_frequency":
                given = {p: count for p, count in enumerate(given) if count}
            elif isinstance(given, dict):
                given = {int(p): count for p, count in given.items()}
            assert had == given, where
        if "expect_never" in step:
            assert not set(told) & set(step["expect_never"]), where
            assert len(set(told)) >= step["expect_distinct_at_least"], where

    def leaders(self, step):
        if self.partitioner is None:
            self.partitioner = TopicPartitioner(self.config, view_of(step), rng=self.draws)
        else:
            self.partitioner.set_view(view_of(step))

    def peek(self, _step):
        return self.partitioner.peek()

    def add(self, step):
        may_switch = step.get("may_switch", True)
        foretold = self.partitioner.ends_window(step["bytes"], may_switch=may_switch)
        ended = self.partitioner.add(step["bytes"], may_switch=may_switch)
        assert foretold == ended
        return ended

    def picks(self, step):
        return [self._pick() for _ in range(step["count"])]

    def _pick(self):
        partition = self.partitioner.peek()
        self.partitioner.add(self.config.sticky_bytes)
        return partition

    def switches(self, step):
        return [self._switch() for _ in range(step["count"])]

    def _switch(self):
        self.partitioner.add(self.config.sticky_bytes)
        return self.partitioner.peek()

    def loads(self, step):
        is_kip = self.semantics == "kip"
        load = kip_load_of(step["kip"]) if is_kip else upstream_load_of(step["upstream"])
        self.partitioner.set_load(load)

    def table(self, step):
        if self.semantics == "kip":
            return
        tables = self.partitioner._choice._tables
        if step.get("expect_none"):
            assert tables is None
        for name, table in (("expect_total", "total"), ("expect_local", "in_rack")):
            if name in step:
                had = getattr(tables, table)
                assert list(had.sums) == step[name]["table"]
                assert list(had.partitions) == step[name]["partitions"]

    def draws_used(self, _step):
        return self.draws.used

    def candidates(self, _step):
        return list(self.partitioner.candidates().partitions)
