from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from naive_audit import World, off, spread
from rackwise.core.boxes import boxes
from rackwise.core.policy import Policy, RackCount, TopicRules
from rackwise.core.racks import Rack, RackTree
from small_clusters import small_cluster
from strategies import crowded_clusters, policies


def boxes_of(racks, rules, replicas):
    tree = RackTree.of((id_, Rack(text)) for id_, text in racks.items())
    usable = [np.bincount(nodes[:-1]) for nodes in tree.nodes]
    found = boxes(tree, usable, rules, replicas)
    return found and [
        dict(zip(names, zip(box.low.tolist(), box.high.tolist(), strict=True), strict=True))
        for names, box in zip(tree.names, found, strict=True)
    ]


ZONES = {1: "a", 2: "a", 3: "b", 4: "c"}
TREE = {1: "/e/a", 2: "/e/a", 3: "/e/b", 4: "/w/a", 5: "/w/a"}


@pytest.mark.parametrize(
    ("spread_rule", "replicas", "wanted"),
    [
        ("even", 2, {"a": (0, 1), "b": (0, 1), "c": (0, 1)}),
        ("even", 4, {"a": (2, 2), "b": (1, 1), "c": (1, 1)}),
        ("distinct", 2, {"a": (0, 1), "b": (0, 1), "c": (0, 1)}),
        ("distinct", 3, {"a": (1, 1), "b": (1, 1), "c": (1, 1)}),
        ("distinct", 4, None),
        ("even", 5, None),
        ("off", 3, {"a": (1, 2), "b": (0, 1), "c": (0, 1)}),
    ],
)
def test_one_level(spread_rule, replicas, wanted):
    found = boxes_of(ZONES, TopicRules(spread=(spread_rule,)), replicas)
    assert found == (wanted and [wanted])


def test_even_level_divides_the_parent_box():
    assert boxes_of(TREE, TopicRules(spread=("even", "even")), 3) == [
        {"/e": (1, 2), "/w": (1, 2)},
        {"/e/a": (0, 1), "/e/b": (0, 1), "/w/a": (1, 2)},
    ]


def test_level_that_is_off_is_skipped():
    assert boxes_of(TREE, TopicRules(spread=("off", "even")), 3)[1] == {
        "/e/a": (1, 1),
        "/e/b": (1, 1),
        "/w/a": (1, 1),
    }


def test_counted_racks_and_other_racks():
    count = (RackCount(rack="/e", min=1, max=1),)
    rules = TopicRules(spread=("even", "off"), count=count, count_others="none")
    assert boxes_of(TREE, rules, 2) is None
    assert boxes_of(TREE, TopicRules(spread=("even", "off"), count=count), 2)[0] == {
        "/e": (1, 1),
        "/w": (1, 1),
    }
    open_ended = TopicRules(spread=("even", "off"), count=(RackCount(rack="/e", min=1),))
    assert boxes_of(TREE, open_ended, 2)[0] == {"/e": (1, 2), "/w": (0, 1)}


def test_counted_racks_on_two_levels_without_others():
    count = (RackCount(rack="/e", min=0, max=1), RackCount(rack="/e/a", min=0, max=0))
    rules = TopicRules(spread=("off", "off"), count=count, count_others="none")
    found = boxes_of(TREE, rules, 1)
    assert found[0]["/w"] == (0, 0)
    assert {rack: box for rack, box in found[1].items() if box[1]} == {"/e/b": (1, 1)}


def test_counted_racks_on_a_distinct_level():
    count = (RackCount(rack="a", min=1),)
    found = boxes_of(ZONES, TopicRules(spread=("distinct",), count=count), 2)
    assert found == [{"a": (1, 1), "b": (0, 1), "c": (0, 1)}]
    two = (RackCount(rack="a", min=2, max=2),)
    assert boxes_of(ZONES, TopicRules(spread=("distinct",), count=two), 2) is None


def test_even_share_that_the_parent_cannot_hold():
    count = (RackCount(rack="/w", min=3, max=3),)
    assert boxes_of(TREE, TopicRules(spread=("even", "even"), count=count), 3) is None


@given(st.data())
def test_every_legal_set_lies_in_the_boxes(data):
    """No legal set of usable brokers has a rack outside its box."""
    cluster = data.draw(crowded_clusters())
    policy = data.draw(policies(cluster))
    tree = RackTree.of(((b.id, b.rack) for b in cluster.brokers), missing=policy.racks.missing)
    world = World(cluster, policy, None)
    assume(cluster.topics and not world.usable & set(world.rackless) - world.paths.keys())
    topic, replicas = min(cluster.topics), data.draw(st.integers(1, 4))
    usable = [
        np.bincount(nodes[np.append(np.isin(tree.brokers, list(world.usable)), False)], minlength=k)
        for nodes, k in zip(tree.nodes, map(len, tree.names), strict=True)
    ]
    found = boxes(tree, usable, world.rules(topic), replicas)
    racks = {id_: cluster_rack(cluster, id_) for id_ in world.paths}
    for chosen in combinations(sorted(world.usable), replicas):
        alone = small_cluster(
            racks, {f"{topic}-0": chosen}, dead=sorted(racks.keys() - world.usable)
        )
        (partition,) = alone.partitions
        checked = World(alone, Policy(racks=policy.racks, topics=policy.topics), None)
        if any(part[0] != "spread-at-least" for part in spread(checked, partition)):
            continue
        assert found is not None
        for nodes, box in zip(tree.nodes, found, strict=True):
            places = np.searchsorted(tree.brokers, chosen)
            counts = np.bincount(nodes[places], minlength=len(box.low))
            assert off(zip("x" * len(counts), box.low, box.high, counts, strict=True)) is None


def cluster_rack(cluster, id_):
    rack = next(broker.rack for broker in cluster.brokers if broker.id == id_)
    return None if rack is None else rack.text
