"""Plans that keep the number of replicas say which partitions have the wrong number."""

from __future__ import annotations

import pytest

from rackwise.adapters.files import write_snapshot
from refusals import called
from small_clusters import small_cluster

RACKS = {0: "a", 1: "b", 2: "c", 3: "a"}
LISTS = {f"orders-{number}": [0, 1, 2] for number in range(4)} | {
    "orders-4": [3, 0],
    "orders-5": [3],
    "t:x-0": [1, 2, 0],
    "t:x-1": [1, 2, 0],
    "t:x-2": [1],
}
SIZED = 'format = "rackwise.policy/1"\n[[topics]]\nmatch = ["orders"]\nreplication = 3\n'


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "s.json"
    write_snapshot(small_cluster(RACKS, LISTS), path)
    return path


def warned(snapshot, *words):
    _, _, err = called("plan", *words, "--snapshot", snapshot, "--out", snapshot.parent / "p.json")
    return [line for line in err.splitlines() if line.startswith("warning: ")]


def kept(which, names, topic):
    return (
        f"warning: {which} the rule replication, and this goal keeps the number of replicas: "
        f"{names}; change it with rackwise plan set-rf '{topic}=3'"
    )


@pytest.mark.parametrize("goal", ["repair", "balance"])
def test_a_repair_names_the_partitions_and_the_plan_that_helps(snapshot, goal):
    assert warned(snapshot, goal) == [
        kept("3 partitions break", "orders-4, orders-5, t:x-2", "orders")
    ]


def test_sizes_that_the_policy_sets_are_changed_and_not_named(snapshot, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(SIZED)
    assert warned(snapshot, "repair", "--policy", policy) == [
        kept("1 partition breaks", "t:x-2", "t:x")
    ]


@pytest.mark.parametrize("words", [["set-rf", "*=3"], ["leaders"]])
def test_other_goals_say_nothing(snapshot, words):
    assert warned(snapshot, *words) == []


def test_right_sizes_say_nothing(tmp_path):
    path = tmp_path / "s.json"
    write_snapshot(small_cluster(RACKS, {"orders-0": [0, 3, 1]}), path)
    assert warned(path, "repair") == []
