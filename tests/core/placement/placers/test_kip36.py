"""Kafka's rack-aware rule: the text of KIP-36, its vectors, and upstream's frozen answers."""

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from laws_placement import (
    check_equal_leaders,
    check_equal_replicas,
    check_placement,
    check_prefix,
    replicas_of,
)
from placements import (
    brokers_of,
    draws_of,
    golden_cases,
    our_answer,
    placement_vectors,
    racked,
)
from rackwise import Kip36, Placement, add_partitions, place
from rackwise.core.errors import InvalidConfig
from rackwise.core.placement import JavaRandom, Request, Unaware, alternated
from rackwise.core.placement.placers.kip36 import BLOCK

PLACERS = {"kip36": Kip36, "unaware": Unaware}
VECTORS = [case for case in placement_vectors("place") if case["placer"] in PLACERS]
KIP_BROKERS = racked("rack1", "rack3", "rack3", "rack2", "rack2", "rack1")
UNEVEN = racked("rack1", "rack2", "rack2")

NAMES = ["a", "b", "c", "", "/eu/a", "\uffee", "\U0001f600", "B"]
CLUSTERS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=14).map(
    lambda racks: racked(*racks)
)
EQUAL_RACKS = st.tuples(st.integers(1, 5), st.integers(1, 4)).map(
    lambda shape: racked(*[NAMES[i % shape[0]] for i in range(shape[0] * shape[1])])
)
SIZES = st.integers(1, 60)


@st.composite
def requests(draw, clusters=CLUSTERS):
    """Brokers, a replication they can have, and a start."""
    brokers = draw(clusters)
    replication = draw(st.integers(1, len(brokers)))
    return brokers, replication, draw(st.integers(0, 20))


def rows_of(placement):
    return {p: "".join(map(str, placement[p])) for p in placement}


class TestVectors:
    @pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
    def test_place(self, case):
        placer = PLACERS[case["placer"]](start=case["start"])
        request = Request(
            brokers=brokers_of(case["brokers"]),
            partitions=case["partitions"],
            replication=case["replication"],
            first_partition=case["first_partition"],
            rng=draws_of(case["rng"]),
        )
        assert placer.place(request).tolist() == case["rows"]

    @pytest.mark.parametrize("case", placement_vectors("alternated"), ids=lambda case: case["name"])
    def test_alternated(self, case):
        assert list(alternated(brokers_of(case["brokers"]))) == case["expected"]

    @pytest.mark.parametrize("continuation", ["upstream", "aligned"])
    @pytest.mark.parametrize(
        "case", placement_vectors("add_partitions"), ids=lambda case: case["name"]
    )
    def test_add_partitions(self, case, continuation):
        existing = Placement(rows=np.array(case["existing"]))
        brokers = brokers_of(case["brokers"])
        new = add_partitions(
            existing, brokers, case["count"], placer=Kip36(continuation=continuation)
        )
        assert new.first == len(existing)
        assert new.rows.tolist() == case[f"rows_{continuation}"]
        leaders = np.concatenate((existing.leaders, new.leaders)).tolist()
        counted = [leaders.count(broker.id) for broker in brokers]
        assert counted == case[f"leaders_{continuation}"]


class TestUpstreamsFrozenAnswers:
    @pytest.mark.parametrize("operation", ["place.kip36", "place.alternate"])
    def test_our_rows_and_refusals_are_the_same(self, operation):
        for number, case in enumerate(golden_cases(operation)):
            assert our_answer(operation, case["in"]) == case, number


class TestTheAlternatedList:
    """KIP-36: To create rack aware assignment, this API will first create an rack alternated broker
    list. [..] The rack alternated list will be 0 (rack1), 3 (rack2), 1 (rack3), 5 (rack1),
    4 (rack2), 2 (rack3).
    """

    def test_of_the_kip(self):
        assert alternated(KIP_BROKERS) == (0, 3, 1, 5, 4, 2)

    def test_racks_are_in_the_order_of_java_and_no_rack_is_first(self):
        assert alternated(racked("\uffee", "\U0001f600", "a", "", None)) == (4, 3, 2, 1, 0)

    @given(st.permutations(racked("b", "a", "a", "c", "b", None)))
    def test_the_order_of_brokers_changes_nothing(self, brokers):
        assert alternated(brokers) == (5, 1, 0, 3, 2, 4)


class TestTheFirstRound:
    """KIP-36: The leader of the partitions are chosen from rack alternated list round-robin. The
    follower starts from the broker next to the leader.
    """

    def test_of_the_kip(self):
        made = place(KIP_BROKERS, 6, 3, placer=Kip36(start=0))
        assert list(rows_of(made).values()) == ["031", "315", "154", "542", "420", "203"]


class TestTheShift:
    """KIP-36: Once it has completed the first round-robin, if there are more partitions to assign,
    the algorithm will start to have a shift for the first follower. The shift is N times number of
    racks, which N increasing for each round. [..] 6 -> (0,4,2) (instead of repeating 0,3,1 as
    partition 0, as shift of 3 is added to the first follower).
    """

    def test_the_shipped_class_begins_the_second_round_as_the_kip_says(self):
        made = place(KIP_BROKERS, 12, 3, placer=Kip36(start=0))
        second = {p: row for p, row in rows_of(made).items() if p >= 6}
        assert second == {6: "042", 7: "320", 8: "103", 9: "531", 10: "415", 11: "254"}

    def test_shift_is_taken_on_its_own(self):
        shifted = place(KIP_BROKERS, 1, 3, placer=Kip36(start=0, shift=1))
        assert rows_of(shifted) == {0: "042"}

    def test_a_multiple_of_the_ring_without_the_leader_shifts_nothing(self):
        assert place(KIP_BROKERS, 4, 3, placer=Kip36(start=0, shift=5)) == place(
            KIP_BROKERS, 4, 3, placer=Kip36(start=0, shift=0)
        )


class TestUnevenRacks:
    """KIP-36: When there are uneven number of brokers in racks, the algorithm may have to skip a
    broker if the its rack is already used for the partition. [..] The complete assignments for
    three partitions are 0 -> (0,1) 1 -> (1,0) 2 -> (2,0).
    """

    def test_of_the_kip(self):
        made = place(UNEVEN, 3, 2, placer=Kip36(start=0))
        assert rows_of(made) == {0: "01", 1: "10", 2: "20"}

    def test_the_lone_broker_of_a_rack_is_penalized(self):
        made = place(UNEVEN, 3, 2, placer=Kip36(start=0))
        assert replicas_of(made, UNEVEN) == [3, 2, 1]


class TestRacksOfDifferentSize:
    """KIP-36: When the number of partition is N (where N is a positive integer) times number of
    brokers, [..] if each rack has different broker count, each broker will have the same leader
    count, but may have different replica count.
    """

    @given(requests(), st.integers(1, 4))
    def test_leaders_are_equal(self, request, rounds):
        brokers, replication, start = request
        made = place(brokers, rounds * len(brokers), replication, placer=Kip36(start=start))
        check_equal_leaders(made, brokers)


class TestEqualRacks:
    """KIP-36: When the number of partition is N (where N is a positive integer) times number of
    brokers, if each rack has the same broker count, each broker will have the same leader count and
    replica count.
    """

    @given(requests(EQUAL_RACKS), st.integers(1, 4))
    def test_leaders_and_replicas_are_equal(self, request, rounds):
        brokers, replication, start = request
        made = place(brokers, rounds * len(brokers), replication, placer=Kip36(start=start))
        check_equal_leaders(made, brokers)
        check_equal_replicas(made, brokers)


class TestThePerfectSituation:
    """KIP-36: In the perfect situation where number of replica is the same as number of racks and
    each rack has the same number of brokers, it guarantees that both leader and replica
    distribution is even across brokers and racks.
    """

    @given(EQUAL_RACKS, st.integers(1, 4), st.integers(0, 20))
    def test_every_rack_holds_each_partition_once(self, brokers, rounds, start):
        racks = len({each.rack for each in brokers})
        made = place(brokers, rounds * len(brokers), racks, placer=Kip36(start=start))
        check_equal_leaders(made, brokers)
        check_equal_replicas(made, brokers)
        check_placement(made, brokers, replication=racks, racks="aware")


class TestAsManyRacksAsPossible:
    """KIP-36: Assign to as many racks as possible. That means if the number of racks are more than
    or equal to the number of replicas, each rack will have at most one replica. On the other hand,
    if the number of racks is less than the the number of replicas (which should happen very
    infrequently), each rack should have at least one replica.
    """

    @given(requests(), SIZES, st.integers(0, 100))
    def test_every_row_is_in_as_many_racks_as_there_can_be(self, request, partitions, first):
        brokers, replication, start = request
        made = place(
            brokers, partitions, replication, placer=Kip36(start=start), first_partition=first
        )
        check_placement(
            made,
            brokers,
            replication=replication,
            racks="aware",
            partitions=partitions,
            first=first,
        )

    @given(requests(), SIZES)
    def test_unaware_rows_are_distinct_and_known(self, request, partitions):
        brokers, replication, start = request
        made = place(brokers, partitions, replication, placer=Unaware(start=start))
        check_placement(made, brokers, replication=replication, racks="off")


class TestUnawareWorldsAgree:
    @given(requests(), SIZES)
    def test_one_rack_is_no_rack(self, request, partitions):
        brokers, replication, start = request
        one, none = racked(*["a"] * len(brokers)), racked(*[None] * len(brokers))
        made = [
            place(given_brokers, partitions, replication, placer=placer)
            for given_brokers, placer in [
                (one, Kip36(start=start)),
                (none, Kip36(start=start)),
                (brokers, Unaware(start=start)),
            ]
        ]
        assert made[0] == made[1] == made[2]

    def test_unaware_keeps_the_order_it_is_given_when_asked_directly(self):
        brokers = brokers_of([[5, "a"], [1, "a"], [3, "b"]])
        request = Request(brokers=brokers, partitions=3, replication=1)
        assert Unaware(start=0).place(request).tolist() == [[5], [1], [3]]

    @given(st.data(), requests(), SIZES)
    def test_the_order_of_brokers_changes_nothing(self, data, request, partitions):
        brokers, replication, start = request
        shuffled = data.draw(st.permutations(brokers))
        for placer in (Kip36(start=start), Unaware(start=start)):
            assert place(shuffled, partitions, replication, placer=placer) == place(
                brokers, partitions, replication, placer=placer
            )


class TestContinuing:
    @given(requests(), st.integers(1, 20), st.integers(1, 20))
    def test_rows_from_a_later_partition_are_those_of_one_creation(self, request, early, late):
        brokers, replication, start = request
        assume(early <= len(brokers))
        placer = Kip36(start=start)
        whole = place(brokers, early + late, replication, placer=placer)
        check_prefix(place(brokers, early, replication, placer=placer), whole)
        rest = place(brokers, late, replication, placer=placer, first_partition=early)
        check_prefix(rest, whole)

    @given(requests(), SIZES, SIZES)
    def test_aligned_additions_are_those_of_one_creation(self, request, early, late):
        brokers, replication, start = request
        assume(start < len(brokers))
        placer = Kip36(start=start, continuation="aligned")
        whole = place(brokers, early + late, replication, placer=placer)
        existing = place(brokers, early, replication, placer=placer)
        new = add_partitions(existing, brokers, late, placer=placer)
        check_prefix(existing, whole)
        check_prefix(new, whole)
        assert len(existing) + len(new) == len(whole)

    @pytest.mark.parametrize(("leader", "heir"), [(3, 4), (9, 0)])
    def test_a_leader_that_is_gone_is_followed_by_the_next_id_or_else_the_first(self, leader, heir):
        brokers = brokers_of([[0, "a"], [2, "b"], [4, "a"], [5, "b"]])
        for continuation in ("upstream", "aligned"):
            placer = Kip36(continuation=continuation)
            gone = add_partitions(Placement.of({0: [leader, 5]}), brokers, 8, placer=placer)
            there = add_partitions(Placement.of({0: [heir, 5]}), brokers, 8, placer=placer)
            assert gone == there


class TestDraws:
    def test_start_is_drawn_before_shift(self):
        rng = JavaRandom(11)
        start, shift = rng.randrange(6), rng.randrange(6)
        assert start != shift
        fixed = Kip36(start=start, shift=shift)
        assert place(KIP_BROKERS, 9, 3, placer=Kip36(), rng=JavaRandom(11)) == place(
            KIP_BROKERS, 9, 3, placer=fixed
        )

    def test_a_shift_that_is_given_is_not_drawn(self):
        start = JavaRandom(11).randrange(6)
        assert place(KIP_BROKERS, 9, 3, placer=Kip36(shift=1), rng=JavaRandom(11)) == place(
            KIP_BROKERS, 9, 3, placer=Kip36(start=start, shift=1)
        )

    def test_pythons_random_fits(self):
        one, two = (place(KIP_BROKERS, 9, 3, placer=Kip36(), rng=Random(5)) for _ in range(2))
        assert one == two

    @pytest.mark.parametrize("placer", [Kip36(), Unaware(shift=2)])
    def test_without_start_and_rng_there_is_nothing_to_begin_with(self, placer):
        with pytest.raises(InvalidConfig) as caught:
            place(KIP_BROKERS, 1, 1, placer=placer)
        assert str(caught.value) == "invalid start: expected a start or an rng, got neither"
        assert "rng=" in caught.value.hint


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"start": -1}, "invalid start: expected an integer >= 0, got -1"),
            ({"shift": -2}, "invalid shift: expected an integer >= 0, got -2"),
            ({"start": True}, "invalid start: expected an integer >= 0, got True"),
            (
                {"continuation": "fresh"},
                'invalid continuation: expected one of upstream, aligned, got "fresh"',
            ),
        ],
    )
    @pytest.mark.parametrize("placer", [Kip36, Unaware])
    def test_values_that_are_none_are_refused(self, placer, options, message):
        with pytest.raises(InvalidConfig) as caught:
            placer(**options)
        assert str(caught.value) == message


@pytest.mark.parametrize("replication", [2, 3, 5])
def test_blocks_join_without_a_seam(replication):
    brokers = racked(*"abbcca")
    whole = place(brokers, BLOCK + 50, replication, placer=Kip36(start=1))
    edge = BLOCK - 50
    tail = place(
        brokers,
        100,
        replication,
        placer=Kip36(start=1, shift=1 + max(0, edge - 1) // len(brokers)),
        first_partition=edge,
    )
    assert tail.rows.tolist() == whole.rows[edge:].tolist()
