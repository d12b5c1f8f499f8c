"""The golden vectors of the choice, each under every semantics that the vector names."""

from __future__ import annotations

import pytest

from producer_vectors import Draws, StepRunner, producer_vectors, upstream_load_of
from rackwise.core import errors
from rackwise.core.partitioner import (
    PartitionerConfig,
    PartitionLoad,
    QueueEntry,
    TopicPartitioner,
    TopicView,
    WindowLedger,
    murmur2,
    partition_for_key,
    upstream_load,
)

VECTORS = producer_vectors()


def of_kind(kind):
    return [vector for vector in VECTORS["vectors"] if vector["kind"] == kind]


STEPS = [
    pytest.param(config, steps, semantics, id=f"{vector['id']}.{number}-{semantics}")
    for vector in of_kind("steps") + of_kind("cases")
    for number, case in enumerate(vector.get("cases", [vector]))
    for semantics in case.get("semantics", vector["semantics"])
    for config, steps in [(case["config"], case["steps"])]
]
WINDOW_ENDS = [
    pytest.param(vector, semantics, id=f"{number}-{semantics}")
    for number, vector in enumerate(VECTORS["window_end"])
    for semantics in vector["semantics"]
]


@pytest.mark.parametrize(("config", "steps", "semantics"), STEPS)
def test_choices_equal_the_vectors(config, steps, semantics):
    StepRunner(config, semantics).run(steps)


@pytest.mark.parametrize(("vector", "semantics"), WINDOW_ENDS)
def test_windows_end_as_in_the_vectors(vector, semantics):
    StepRunner(vector["config"], semantics).run(vector["steps"])


@pytest.mark.parametrize("case", [case for v in of_kind("config") for case in v["cases"]])
def test_options_are_accepted_or_rejected(case):
    is_kafkas = "kafka_options" in case
    make = PartitionerConfig.from_kafka if is_kafkas else lambda fields: PartitionerConfig(**fields)
    options = case["kafka_options"] if is_kafkas else case["options"]
    if case.get("expect_error"):
        with pytest.raises(getattr(errors, case["expect_error"])):
            make(options)
        return
    config = make(options)
    if "expect_sticky_bytes" in case:
        assert config.sticky_bytes == case["expect_sticky_bytes"]
    if "expect_problem" in case:
        assert [finding.rule for finding in config.problems()] == [case["expect_problem"]]
    if "expect_candidates" in case:
        view = TopicView((0, 1), {0: "a", 1: "b"})
        found = TopicPartitioner(config, view, rng=Draws()).candidates()
        assert (found.tier, found.partitions) == (case["expect_candidates"], (0, 1))


@pytest.mark.parametrize("case", [case for v in of_kind("keys") for case in v["cases"]])
def test_keys_hash_as_kafka_does(case):
    key = case["key_utf8"].encode()
    assert murmur2(key) == case["murmur2"]
    assert partition_for_key(key, 12) == case["partition_of_12"]


def test_the_queue_of_a_late_node_stays_in_its_slot():
    (vector,) = [vector for vector in VECTORS["vectors"] if "upstream_entries" in vector]
    entries = [QueueEntry(**entry) for entry in vector["upstream_entries"]]
    (loads,) = [step for step in vector["steps"] if step["op"] == "loads"]
    assert upstream_load(entries, 3) == upstream_load_of(loads["upstream"])


@pytest.mark.parametrize("vector", VECTORS["double_call"])
def test_a_record_that_is_requested_twice_counts_once(vector):
    config = PartitionerConfig(sticky_bytes=vector["sticky_bytes"])
    view = TopicView(tuple(vector["leaders"]), {})
    partitioner = TopicPartitioner(config, view, rng=Draws())
    for call in vector["calls"]:
        if call["call"] == "on_new_batch":
            partitioner.new_batch()
        else:
            assert partitioner.defer(call["size"]) == call["expect"]
        assert partitioner.window_bytes == call["produced_after"]
        assert partitioner._held == call["pending_after"]


@pytest.mark.parametrize("vector", VECTORS["ledger"], ids=lambda vector: vector["title"])
def test_the_ledger_equals_the_vectors(vector):
    ledger = WindowLedger(vector["availability_timeout_ms"])
    for step in vector["steps"]:
        op, arguments = step["op"], {k: v for k, v in step.items() if k in ARGUMENTS}
        if op == "windows":
            observed = ledger.load(0).windows
            assert observed == {int(p): count for p, count in step["expect"].items()}
        elif op == "excluded_nodes":
            assert ledger.excluded_nodes(**arguments) == frozenset(step["expect"])
        elif op == "done":
            ledger.done(step["token"], step["now_ms"], ok=step["ok"])
        else:
            assert getattr(ledger, op)(**arguments) == step["token"]


ARGUMENTS = ("partition", "node", "now_ms")


@pytest.mark.parametrize("case", VECTORS["rack_levels"]["cases"])
def test_the_nearest_nonempty_level_is_used(case):
    observed = VECTORS["rack_levels"]
    racks = {int(node): rack for node, rack in observed["leader_racks"].items()}
    config = PartitionerConfig(
        rack_aware=True, rack=observed["client_rack"], rack_depth=case["rack_depth"]
    )
    partitioner = TopicPartitioner(config, TopicView(tuple(range(5)), racks), rng=Draws())
    partitioner.set_load(PartitionLoad({}, frozenset(case["unusable"])))
    found = partitioner.candidates()
    assert (found.tier, list(found.partitions)) == (case["tier"], case["candidates"])
