"""Which racks of a cluster count, in the middle of a change of forms and outside of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidRack
from rackwise.core.odd_racks import settle_racks
from rackwise.core.racks import Rack, RackTree
from small_clusters import small_cluster
from strategies import TEXTS

TO_PATHS = {"a": "/eu/a", "b": "/eu/b"}
ANY_RACKS = st.lists(
    st.none() | st.sampled_from(["a", "b", "c", "/eu/a", "/eu/b", "/", "/eu/"]) | TEXTS, max_size=7
)
MAPS = st.sampled_from([{}, TO_PATHS])


def pairs(racks):
    """Brokers 1, 2, .. and their racks."""
    return [(id_, None if text is None else Rack(text)) for id_, text in enumerate(racks, start=1)]


def settled(*racks, names=None):
    """The texts that count, and why the others do not."""
    found = settle_racks(pairs(racks), names or {})
    return (
        [None if rack is None else rack.text for rack in found.racks.values()],
        [each.text for each in found.odd],
    )


class TestRacksThatCount:
    @pytest.mark.parametrize("racks", [[], [None], ["a", None, "b"], ["/eu/a", "/", None]])
    def test_racks_of_one_form_stay(self, racks):
        assert settled(*racks) == (racks, [])

    def test_one_path_among_names(self):
        assert settled("a", "/eu/c", "b") == (
            ["a", None, "b"],
            ['broker 2 ("/eu/c": expected a name, as 2 of 3 brokers have)'],
        )

    def test_names_among_as_many_paths(self):
        assert settled("a", "/eu/b", "/eu/c", "d", None) == (
            [None, "/eu/b", "/eu/c", None, None],
            [
                'broker 1 ("a": expected a path, as 2 of 4 brokers have)',
                'broker 4 ("d": expected a path, as 2 of 4 brokers have)',
            ],
        )

    @pytest.mark.parametrize(
        ("text", "wanted", "hint"),
        [
            ("/eu/", "/level/level", "remove the doubled or trailing slash from broker.rack"),
            ("/l" * 17, "at most 16 levels", "merge levels, for example /eu/a-row7"),
            ("", "printable text", "set broker.rack to a path such as /eu/a or a name such as"),
        ],
    )
    def test_a_malformed_rack_is_odd_and_counts_for_no_form(self, text, wanted, hint):
        found = settle_racks(pairs([text, "a"]))
        assert found.racks == {1: None, 2: Rack("a")}
        (odd,) = found.odd
        assert (odd.broker, odd.rack, odd.wanted) == (1, Rack(text), wanted)
        assert odd.hint.startswith(hint)

    def test_sixteen_levels_are_enough_for_a_rack(self):
        assert settled("/l" * 16) == (["/l" * 16], [])

    def test_the_map_makes_paths_of_names(self):
        assert settled("a", "/eu/b", "b", names=TO_PATHS) == (["/eu/a", "/eu/b", "/eu/b"], [])

    def test_one_mapped_name_wants_the_others_mapped(self):
        racks, odd = settled("a", "c", "d", names=TO_PATHS)
        assert racks == ["/eu/a", None, None]
        assert odd[0] == 'broker 2 ("c": expected a path, as 1 of 3 brokers have)'
        assert "racks.map" in settle_racks(pairs(["a", "c"]), TO_PATHS).odd[0].hint

    def test_a_map_without_use_changes_nothing(self):
        assert settled("c", "d", "/eu/e", names=TO_PATHS)[0] == ["c", "d", None]


@given(ANY_RACKS, MAPS)
def test_racks_that_count_make_a_tree_and_stay(racks, names):
    found = settle_racks(pairs(racks), names)
    RackTree.of(found.racks.items())
    assert settle_racks(found.racks.items(), names) == (found.racks, ())
    lost = {each.broker for each in found.odd}
    kept = {id_ for id_, rack in found.racks.items() if rack is not None}
    assert lost | kept == {id_ for id_, rack in pairs(racks) if rack is not None}
    assert not lost & kept


class TestClusters:
    def test_one_whose_racks_all_count_is_returned_itself(self):
        cluster = small_cluster({1: "/eu/a", 2: None}, {})
        assert cluster.settled() is cluster
        assert cluster.odd_racks == ()

    def test_odd_racks_are_kept_beside_those_that_count(self):
        cluster = small_cluster({1: "a", 2: "/eu/b", 3: "c", 4: "/"}, {})
        changed = cluster.settled(TO_PATHS)
        assert [broker.rack and broker.rack.text for broker in changed.brokers] == [
            "/eu/a",
            "/eu/b",
            None,
            "/",
        ]
        assert [(each.broker, each.rack.text) for each in changed.odd_racks] == [(3, "c")]
        assert changed.settled(TO_PATHS) is changed
        again = replace(changed, brokers=(*changed.brokers, replace(cluster.brokers[2], id=5)))
        assert [each.broker for each in again.settled().odd_racks] == [3, 5]

    def test_mapped_racks_keep_the_odd_ones(self):
        cluster = small_cluster({1: "a", 2: "/eu/b", 3: "c", 4: "/eu/", 5: None}, {})
        changed = cluster.mapped(TO_PATHS)
        assert [broker.rack and broker.rack.text for broker in changed.brokers] == [
            "/eu/a",
            "/eu/b",
            "c",
            "/eu/",
            None,
        ]
        assert changed.odd_racks == ()
        assert cluster.mapped({}) == cluster


def test_a_tree_of_racks_that_do_not_count_is_refused():
    with pytest.raises(InvalidRack):
        RackTree.of(pairs(["a", "/eu/a"]))
