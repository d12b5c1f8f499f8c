from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidRack
from rackwise.core.racks import (
    Rack,
    RackTree,
    check_one_form,
    crossing_level,
    level_names,
    levels_crossed,
    padded,
    prefix,
    water_fill,
)
from strategies import PATHS
from vectors import planner_vectors


class TestLevels:
    @pytest.mark.parametrize(
        ("text", "levels"),
        [
            ("use1-az1", ("use1-az1",)),
            ("/eu", ("eu",)),
            ("/eu/a/r7/s", ("eu", "a", "r7", "s")),
            ("/l" * 16, ("l",) * 16),
            ("/", ()),
            ("eu/a", ("eu/a",)),
        ],
    )
    def test_of_a_rack(self, text, levels):
        rack = Rack(text)
        assert rack.levels == levels
        assert rack.is_path == text.startswith("/")
        assert str(rack) == text
        assert rack.is_sound

    @pytest.mark.parametrize(
        ("text", "message", "hint"),
        [
            ("", 'rack is empty or holds a control character: ""', "use1-az1"),
            ("a\x1bb", r'rack is empty or holds a control character: "a\x1bb"', "use1-az1"),
            ("/eu//a", 'rack path has an empty segment: "/eu//a"', "slash"),
            ("/eu/", 'rack path has an empty segment: "/eu/"', "slash"),
            (
                "/l" * 17,
                f'expected a rack path of at most 16 levels, got 17 in "{"/l" * 17}"',
                "merge levels",
            ),
        ],
    )
    def test_of_a_malformed_rack(self, text, message, hint):
        with pytest.raises(InvalidRack) as caught:
            Rack(text).levels  # noqa: B018 (reading it is the check)
        assert str(caught.value) == message
        assert hint in caught.value.hint
        assert not Rack(text).is_sound

    @given(PATHS)
    def test_prefix_of_all_levels_is_the_rack(self, rack):
        assert prefix(rack.levels, len(rack.levels)) == rack.text

    def test_prefix(self):
        assert prefix(("eu", "a"), 1) == "/eu"
        assert prefix(("use1-az1",), 1, is_path=False) == "use1-az1"

    def test_padded(self):
        assert padded(("eu",), 3) == ("eu", "eu", "eu")
        assert padded(("eu", "a"), 1) == ("eu", "a")
        assert padded((), 2) == ()

    @pytest.mark.parametrize(
        ("depth", "given_names", "names"),
        [
            (0, (), ("zone",)),
            (1, (), ("zone",)),
            (2, (), ("level1", "level2")),
            (2, ("region", "zone"), ("region", "zone")),
            (1, ("region", "zone"), ("region",)),
        ],
    )
    def test_names(self, depth, given_names, names):
        assert level_names(depth, given_names) == names


@pytest.mark.parametrize(
    ("a", "b", "level"),
    [
        ("/eu/a", "/eu/a", 0),
        ("/eu/a", "/eu/b", 2),
        ("/eu/a", "/us/a", 1),
        ("/eu", "/eu/b", 0),
        ("/eu/a", "/eu/a/r1", 0),
        ("az1", "az2", 1),
        ("use1-az1", "use1-az2", 1),
        (None, "/eu/a", -1),
        ("az1", None, -1),
        (None, "az1", -1),
    ],
)
def test_crossing_level(a, b, level):
    assert crossing_level(a and Rack(a), b and Rack(b)) == level


class TestOneForm:
    def test_all_paths_or_all_names(self):
        check_one_form([(1, Rack("/a")), (2, None), (3, Rack("/b/c"))])
        check_one_form([(1, Rack("a")), (2, Rack("b"))])

    def test_mixed(self):
        with pytest.raises(InvalidRack) as caught:
            check_one_form([(1, Rack("a")), (2, Rack("/b")), (3, Rack("c"))])
        assert str(caught.value) == (
            "expected one form of rack, got the path /b on broker 2 and the name a on broker 1"
        )
        assert "finish the migration" in caught.value.hint

    def test_malformed_names_the_broker(self):
        with pytest.raises(InvalidRack, match="broker 7: rack path has an empty segment") as caught:
            check_one_form([(7, Rack("/a//b"))])
        assert caught.value.where == "broker 7"
        assert "slash" in caught.value.hint


class TestWaterFill:
    @pytest.mark.parametrize("case", planner_vectors()["water_filling"])
    def test_vectors(self, case):
        shares = water_fill(case["free_brokers"], case["replicas"])
        assert (shares and [list(share) for share in shares]) == case["low_high"]

    @given(st.lists(st.integers(0, 4), max_size=4), st.integers(0, 9))
    def test_shares_are_the_fairest_possible(self, free, replicas):
        ways = [way for way in product(*(range(n + 1) for n in free)) if sum(way) == replicas]
        best = min((sum(n * n for n in way) for way in ways), default=None)
        fair = [way for way in ways if sum(n * n for n in way) == best]
        wanted = tuple((min(column), max(column)) for column in zip(*fair, strict=True))
        assert water_fill(free, replicas) == (wanted if ways else None)


class TestTree:
    tree = RackTree.of(
        [(4, None), (2, Rack("/eu/b")), (1, Rack("/eu/a")), (3, Rack("/us")), (5, Rack("/"))]
    )

    def test_numbers_nodes_in_path_order(self):
        assert self.tree.depth == 2
        assert self.tree.names == (("/eu", "/us"), ("/eu/a", "/eu/b", "/us/us"))
        assert self.tree.brokers.tolist() == [1, 2, 3, 4, 5]
        assert self.tree.nodes.tolist() == [[0, 0, 1, -1, -1, -1], [0, 1, 2, -1, -1, -1]]
        assert [parents.tolist() for parents in self.tree.parents] == [[0, 0], [0, 0, 1]]

    def test_names_brokers_that_are_padded_or_rackless(self):
        assert self.tree.padded == (3,)
        assert self.tree.rackless == (4, 5)

    def test_finds_racks_by_text(self):
        assert self.tree.find("/us") == (0, 1)
        assert self.tree.find("/eu/b") == (1, 1)
        assert self.tree.find("/eu/c") is None

    def test_ancestors(self):
        assert self.tree.ancestors(1, 1).tolist() == [0, 1, 2]
        assert self.tree.ancestors(1, 0).tolist() == [0, 0, 1]
        assert self.tree.ancestors(1, -1).tolist() == [0, 0, 0]

    def test_places(self):
        ids = np.array([5, 1, 9, 0, -1], dtype=np.int32)
        assert self.tree.places(ids).tolist() == [4, 0, 5, 5, 5]

    @pytest.mark.parametrize("large", [6, 7, 2**31 - 1])
    def test_lookup_table_and_binary_search_give_equal_places(self, large):
        tree = RackTree.of([(large, Rack("a")), (0, Rack("b"))])
        ids = np.array([large, -1, 2**31 - 1, 1, 0, 3, -(2**31)], dtype=np.int32)
        by_definition = [{0: 0, large: 1}.get(id_, 2) for id_ in ids.tolist()]
        assert tree.places(ids).tolist() == by_definition

    def test_one_rack_puts_brokers_without_rack_into_the_first_node(self):
        tree = RackTree.of([(1, Rack("a")), (2, None)], missing="one-rack")
        assert tree.names == (("(no rack)", "a"),)
        assert tree.nodes.tolist() == [[1, 0, -1]]
        assert tree.rackless == (2,)

    def test_without_racks_there_is_one_empty_level(self):
        tree = RackTree.of([(1, None)])
        assert (tree.depth, tree.names) == (1, ((),))
        assert RackTree.of([]).places(np.array([3, -1], dtype=np.int32)).tolist() == [0, 0]

    def test_mixed_forms_are_rejected(self):
        with pytest.raises(InvalidRack, match="expected one form of rack"):
            RackTree.of([(1, Rack("a")), (2, Rack("/b"))])

    def test_segments_sort_as_bytes(self):
        tree = RackTree.of([(1, Rack("/a.b/x")), (2, Rack("/a/y")), (3, Rack("/é/z"))])
        assert tree.names[0] == ("/a", "/a.b", "/é")
        assert tree.names[1] == ("/a/y", "/a.b/x", "/é/z")


class TestLevelsCrossed:
    @pytest.mark.parametrize(
        ("racks", "levels"),
        [
            ((), ()),
            (("a",), ()),
            (("a", "b"), (1,)),
            (("/eu/a", "/eu/b"), (2,)),
            (("/eu/a", "/us/a"), (1,)),
            (("/eu", "/eu/a"), ()),
            (("/eu/a/1", "/eu/a/2", "/us/b"), (1, 3)),
        ],
    )
    def test_levels_at_which_two_racks_differ(self, racks, levels):
        assert levels_crossed(map(Rack, racks)) == levels

    @given(st.lists(PATHS, max_size=6))
    def test_it_is_every_level_that_a_pair_crosses(self, racks):
        racks = [Rack(str(rack)) for rack in racks]
        wanted = {crossing_level(a, b) for a, b in product(racks, repeat=2)} - {0}
        assert levels_crossed(racks) == tuple(sorted(wanted))
