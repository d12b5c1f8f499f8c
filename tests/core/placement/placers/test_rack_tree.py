"""The tree has one node for each prefix, in an order that no input order changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placements import racked
from rackwise import Broker, Rack
from rackwise.core.placement.placers.rack_tree import Tree
from rackwise.core.racks import NO_RACK
from strategies import racked_brokers


def drawn(node):
    """A node as nested lists: names of racks, ids of brokers."""
    if not node.children:
        return int(node.name)
    return [node.name, *map(drawn, node.children)]


def tree_of(*racks, pad=True):
    return Tree.of(racked(*racks), pad=pad)


def test_the_example_drawn_in_the_text():
    brokers = [
        Broker(id=id_, rack=Rack(rack))
        for id_, rack in ((1, "/eu/a"), (2, "/eu/b"), (3, "/eu/a"), (4, "/us"))
    ]
    tree = Tree.of(brokers, pad=True)
    assert drawn(tree.root) == [
        "",
        ["/eu", ["/eu/a", 1, 3], ["/eu/b", 2]],
        ["/us", ["/us/us", 4]],
    ]
    assert tree.brokers.tolist() == [1, 3, 2, 4]
    assert [(n.name, n.number, n.first, n.capacity) for n in tree.inner] == [
        ("", 0, 0, 4),
        ("/eu", 1, 0, 3),
        ("/eu/a", 2, 0, 2),
        ("/eu/b", 3, 2, 1),
        ("/us", 4, 3, 1),
        ("/us/us", 5, 3, 1),
    ]
    assert [leaf.number for leaf in tree.inner[2].children] == [-1, -2]


def test_without_padding_a_node_holds_brokers_before_racks():
    assert drawn(tree_of("/b/x", "/b", "/b", pad=False).root) == ["", ["/b", 1, 2, ["/b/x", 0]]]


def test_without_racks_all_brokers_are_children_of_the_root():
    assert drawn(tree_of(None, None).root) == ["", 0, 1]


def test_a_broker_at_the_root_stands_directly_below_it():
    assert drawn(tree_of("/a/b", "/").root) == ["", 1, ["/a", ["/a/b", 0]]]


def test_brokers_without_rack_share_one_child_before_the_named_ones():
    assert drawn(tree_of("a", None, "b", None).root) == [
        "",
        [NO_RACK, 1, 3],
        ["a", 0],
        ["b", 2],
    ]


def test_racks_stand_in_the_order_of_utf_16_as_in_java():
    names = ["\uff5e", "\U00010000", "z"]
    assert [child.name for child in tree_of(*names).root.children] == [
        "z",
        "\U00010000",
        "\uff5e",
    ]


def test_leaves_and_counts_pass_over_strangers():
    tree = Tree.of([Broker(id=id_) for id_ in (7, 3, 5)], pad=True)
    rows = np.array([[3, 9], [7, -1]], dtype=np.int32)
    assert tree.leaves(rows).tolist() == [[0, -1], [2, -1]]
    assert tree.replica_counts(rows).tolist() == [1, 0, 1]


@pytest.mark.parametrize("odd", ["/a//b", "/a/", "b", ""])
def test_a_broker_with_an_odd_rack_has_none(odd):
    assert drawn(tree_of("/a", odd, "/c").root) == drawn(tree_of("/a", None, "/c").root)


@given(racked_brokers(), st.booleans(), st.randoms())
def test_the_order_of_brokers_changes_nothing(brokers, pad, random):
    others = list(brokers)
    random.shuffle(others)
    one, other = Tree.of(brokers, pad=pad), Tree.of(others, pad=pad)
    assert drawn(one.root) == drawn(other.root)
    assert one.brokers.tolist() == other.brokers.tolist()
