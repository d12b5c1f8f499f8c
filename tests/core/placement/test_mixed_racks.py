"""Placement during a change from plain names to paths: who refuses, who takes which racks.

`kip36`, `unaware` and `striped` are Kafka's own rules, which compare racks as texts.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placements import racked
from rackwise import RackMode, add_partitions, change_replication, place
from rackwise.core.errors import PartialRacks
from rackwise.core.placement import JavaRandom, Kip36, Levels, Ring, Striped, Unaware, explain
from rackwise.core.placement.rack_modes import brokers_without_rack
from strategies import TEXTS

MIXED = racked("a", "b", "/eu/c", "a", "b")
NAMES = st.lists(TEXTS, min_size=1, max_size=7)


def renamed(brokers):
    """Each text of a rack becomes another name, in the same order."""
    texts = sorted(
        {each.rack.text for each in brokers},
        key=lambda text: text.encode("utf-16-be", "surrogatepass"),
    )
    names = {text: f"rack{number:02}" for number, text in enumerate(texts)}
    return tuple(
        replace(each, rack=replace(each.rack, text=names[each.rack.text])) for each in brokers
    )


@pytest.mark.parametrize("placer", [Kip36(), Unaware(), Kip36(start=3, continuation="aligned")])
@given(racks=NAMES, seed=st.integers(0, 99), more=st.integers(0, 2))
def test_any_text_is_a_name_to_kafkas_rule(placer, racks, seed, more):
    brokers = racked(*racks)
    replication = 1 + min(more, len(racks) - 1)

    def rows(brokers):
        made = place(brokers, 9, replication, placer=placer, rng=JavaRandom(seed))
        added = add_partitions(made, brokers, 5, placer=placer, rng=JavaRandom(seed))
        return made, added

    assert rows(brokers) == rows(renamed(brokers))


@given(racks=NAMES, seed=st.integers(0, 99))
def test_any_text_is_a_name_to_striped(racks, seed):
    rows = place(racked(*racks), 9, len(racks), placer=Striped(), rng=JavaRandom(seed))
    assert all(sorted(row) == list(range(len(racks))) for row in rows.as_dict().values())


@pytest.mark.parametrize("placer", [Levels(), Ring(start=0)])
class TestPlacersOfLevels:
    def test_enforced_names_the_brokers_and_the_ways_on(self, placer):
        for attempt in (
            lambda: place(MIXED, 3, 2, placer=placer),
            lambda: add_partitions(place(MIXED, 3, 2, placer=Kip36(start=0)), MIXED, 1),
            lambda: change_replication(
                place(MIXED, 3, 2, placer=Kip36(start=0)), MIXED, 3, placer=placer
            ),
        ):
            with pytest.raises(PartialRacks) as caught:
                attempt()
            assert str(caught.value) == (
                "all brokers must have a rack that counts; 1 of 5 have none: "
                'broker 2 ("/eu/c": expected a name, as 4 of 5 brokers have)'
            )
            assert caught.value.hint == (
                "give all brokers racks of one form, or map them with --policy FILE ([racks.map]), "
                "or place without racks: --disable-rack-aware"
            )

    @pytest.mark.parametrize("racks", [("/eu/", "/eu/"), ("/l" * 17, None), ("", "")])
    def test_racks_of_which_none_counts_are_not_ignored_in_silence(self, placer, racks):
        with pytest.raises(PartialRacks, match="2 of 2 have none: "):
            place(racked(*racks), 1, 1, placer=placer)

    def test_safe_and_disabled_place_without_racks(self, placer):
        plain = place(racked(*[None] * 5), 6, 3, placer=placer)
        for mode in (RackMode.SAFE, RackMode.DISABLED):
            assert place(MIXED, 6, 3, placer=placer, racks=mode) == plain

    def test_a_broker_with_an_odd_rack_that_takes_nothing_is_no_reason(self, placer):
        paths = racked("/eu/a", "/eu/b", "c")
        rest = (*paths[:2], replace(paths[2], is_live=False, is_fenced=True))
        assert len(place(rest, 2, 2, placer=placer)) == 2


def test_one_rack_takes_odd_racks_as_no_rack():
    rows = place(racked("/eu/a", "b", "/eu/a"), 4, 2, racks=RackMode.ONE_RACK)
    assert all(1 in row for row in rows.as_dict().values())


def test_rows_on_odd_racks_are_explained():
    report = explain(place(MIXED, 4, 2, placer=Kip36(start=0)), MIXED)
    assert [(each.rack, each.brokers) for each in report.racks] == [
        ("(no rack)", 1),
        ("a", 2),
        ("b", 2),
    ]


def test_sixteen_levels():
    deep = racked(*(f"{'/l' * 15}/{leaf}" for leaf in "aabb"))
    rows = place(deep, 6, 2)
    assert all(len({id_ // 2 for id_ in row}) == 2 for row in rows.as_dict().values())


@pytest.mark.parametrize(
    ("has_levels", "without"),
    [(True, ('2 ("/eu/c": expected a name, as 4 of 5 brokers have)',)), (False, ())],
)
def test_brokers_without_a_rack_that_counts(has_levels, without):
    found = brokers_without_rack(MIXED, has_levels=has_levels)
    assert [text.removeprefix("broker ") for text in found] == list(without)
    assert brokers_without_rack(racked(None, "a"), has_levels=has_levels) == ("0",)
    assert brokers_without_rack(racked(None, None), has_levels=has_levels) == ()
