"""KRaft's placer: its vectors, upstream's frozen answers, its quirks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_placement import check_placement, leaders_of, replicas_of
from placements import (
    broker,
    brokers_of,
    draws_of,
    golden_cases,
    our_answer,
    placement_vectors,
    racked,
)
from rackwise import RackMode, place
from rackwise.core.errors import InvalidConfig, NotEnoughBrokers, PartialRacks
from rackwise.core.placement import JavaRandom, MockRandom, Request, Striped

VECTORS = [case for case in placement_vectors("place") if case["placer"] == "striped"]
CLUSTERS = st.lists(st.sampled_from(["a", "b", "c", "", None]), min_size=1, max_size=10).map(
    lambda racks: racked(*racks)
)


class Listed:
    """Draws the numbers it was given, and remembers the bounds it was asked for."""

    def __init__(self, *numbers):
        self._numbers = list(numbers)
        self.stops = []

    def randrange(self, stop, /):
        self.stops.append(stop)
        return self._numbers.pop(0) if self._numbers else 0


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_the_vectors(case):
    request = Request(
        brokers=brokers_of(case["brokers"]),
        partitions=case["partitions"],
        replication=case["replication"],
        rng=draws_of(case["rng"]),
    )
    assert Striped().place(request).tolist() == case["rows"]


def test_rows_and_refusals_are_upstreams_frozen_answers():
    for number, case in enumerate(golden_cases("place.striped")):
        assert our_answer("place.striped", case["in"]) == case, number


class TestDraws:
    def test_fenced_lists_are_drawn_before_unfenced_ones_and_the_turn_is_last(self):
        rng = Listed()
        brokers = brokers_of([[i, "a", i < 2] for i in range(5)])
        Striped().place(Request(brokers=brokers, partitions=1, replication=1, rng=rng))
        assert rng.stops == [2, 3, 1]

    def test_racks_are_drawn_in_the_order_of_javas_hash_table(self):
        rng = Listed()
        # Of 16 buckets "r10" and no rack share the first, "a" is in the next, "r1" in the last.
        brokers = racked("r1", "r1", "r1", "r10", "r10", "a", None, None, None, None)
        Striped().place(Request(brokers=brokers, partitions=1, replication=1, rng=rng))
        assert rng.stops == [2, 4, 1, 3, 4]

    @pytest.mark.parametrize(("others", "stops"), [("abcdefghijk", [2]), ("abcdefghijkl", [])])
    def test_the_table_grows_with_the_thirteenth_rack(self, others, stops):
        rng = Listed()
        # Of 16 buckets "p" is in the first, of 32 in the seventeenth, behind all of the others.
        brokers = racked("p", "p", *others)
        Striped().place(Request(brokers=brokers, partitions=1, replication=1, rng=rng))
        assert rng.stops == [*stops, *[1] * len(others), *[2][len(stops) :], len(others) + 1]

    def test_names_of_one_bucket_keep_the_order_of_the_brokers(self):
        rngs = Listed(), Listed()
        aa, bb = [(i, "Aa") for i in range(2)], [(i, "BB") for i in range(2, 5)]
        for rng, told in zip(rngs, (aa + bb, bb + aa), strict=True):
            request = Request(brokers=brokers_of(told), partitions=1, replication=1, rng=rng)
            Striped().place(request)
        assert [rng.stops for rng in rngs] == [[2, 3, 2], [3, 2, 2]]

    def test_racks_and_lists_are_shuffled_after_as_many_rows_as_unfenced_brokers(self):
        rng = Listed()
        request = Request(brokers=racked("a", "a", "b"), partitions=3, replication=1, rng=rng)
        Striped().place(request)
        assert rng.stops == [2, 1, 2]
        again = Listed()
        request = Request(brokers=racked("a", "a", "b"), partitions=4, replication=1, rng=again)
        Striped().place(request)
        assert again.stops == [2, 1, 2, 2, 2]

    def test_a_single_unfenced_broker_is_never_shuffled(self):
        rng = Listed()
        brokers = (broker(0), broker(1, fenced=True))
        request = Request(brokers=brokers, partitions=9, replication=2, rng=rng)
        assert Striped().place(request).tolist() == [[0, 1]] * 9
        assert rng.stops == [1, 1, 1]

    def test_without_rng_it_says_so(self):
        with pytest.raises(InvalidConfig) as caught:
            place(racked("a"), 1, 1, placer=Striped())
        assert str(caught.value) == "striped needs rng"
        assert "rng=" in caught.value.hint


class TestTooFewBrokers:
    @pytest.mark.parametrize(
        ("brokers", "message"),
        [
            (
                racked("a", "b"),
                "replication 3 needs 3 brokers; the cluster has 2, including fenced ones",
            ),
            (
                [broker(0, fenced=True)],
                "a leader needs an unfenced broker; 0 of 1 brokers are unfenced",
            ),
        ],
    )
    def test_it_refuses_by_itself_as_upstream_does(self, brokers, message):
        request = Request(brokers=tuple(brokers), partitions=1, replication=3, rng=MockRandom())
        with pytest.raises(NotEnoughBrokers, match=message):
            Striped().place(request)


class TestLaws:
    @given(CLUSTERS, st.data(), st.integers(1, 40), st.integers(0, 2**48))
    def test_rows_are_distinct_known_and_in_as_many_racks_as_there_can_be(
        self, brokers, data, partitions, seed
    ):
        replication = data.draw(st.integers(1, len(brokers)))
        made = place(
            brokers,
            partitions,
            replication,
            placer=Striped(),
            racks=RackMode.ONE_RACK,
            rng=JavaRandom(seed),
        )
        check_placement(
            made, brokers, replication=replication, racks="aware", partitions=partitions, first=0
        )

    def test_fenced_brokers_never_lead_and_come_last(self):
        brokers = brokers_of([[i, "abc"[i % 3], i in {1, 5}] for i in range(9)])
        made = place(brokers, 70, 3, placer=Striped(), rng=MockRandom())
        assert [leaders_of(made, brokers)[i] for i in (1, 5)] == [0, 0]
        assert [replicas_of(made, brokers)[i] for i in (1, 5)] == [0, 0]
        check_placement(made, brokers, replication=3, racks="aware")
        full = place(brokers, 70, 9, placer=Striped(), rng=MockRandom())
        assert set(replicas_of(full, brokers)) == {70}

    @given(st.permutations(racked("Aa", "BB", "Aa", "c", "BB")))
    def test_the_order_of_brokers_changes_nothing_in_front(self, brokers):
        made = place(brokers, 20, 3, placer=Striped(), rng=JavaRandom(3))
        in_order = place(
            racked("Aa", "BB", "Aa", "c", "BB"), 20, 3, placer=Striped(), rng=JavaRandom(3)
        )
        assert made == in_order

    def test_racks_that_are_partial_want_the_mode_one_rack(self):
        with pytest.raises(PartialRacks):
            place(racked("a", None), 1, 1, placer=Striped(), rng=MockRandom())
