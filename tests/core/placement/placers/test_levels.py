"""Levels: its promises L1 to L4 as laws, the vectors, the list of a known fork, frozen rows."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_levels import answers, frozen
from laws_levels import (
    check_even_leaders,
    check_even_replicas,
    check_level_optimal,
    check_split,
    rack_tree,
)
from laws_placement import check_equal_leaders, check_placement, leaders_of, replicas_of
from placements import brokers_of, placement_vectors, racked
from rackwise import Broker, Levels, Placement, Rack, add_partitions, place
from rackwise.core.errors import InvalidConfig, NotEnoughBrokers
from rackwise.core.placement import Load, RackMode, Request, Ring
from strategies import racked_brokers

BALANCES = st.sampled_from(["brokers", "racks"])
LEVELS = placement_vectors("levels")
EVEN = {
    "3 racks of 2": racked(*[f"/{i % 3}" for i in range(6)]),
    "3 x 2 racks of 2": racked(*[f"/{i % 3}/{i // 3 % 2}" for i in range(12)]),
    "2 x 2 racks of 2": racked(*[f"/{i % 2}/{i // 2 % 2}" for i in range(8)]),
    "no racks": racked(*[None] * 7),
}


def within_one(counts):
    return max(counts) - min(counts) <= 1


@pytest.mark.parametrize("number", range(len(LEVELS)))
def test_vectors_hold_with_any_seed(number):
    """Counts of one turn; a unit that racks share may go elsewhere in another, never further."""
    vector = LEVELS[number]
    brokers = brokers_of(vector["brokers"])
    seen = set()
    for seed in range(5):
        made = place(
            brokers,
            vector["partitions"],
            vector["replication"],
            placer=Levels(balance=vector["balance"]),
            rng=Random(seed),
        )
        check_level_optimal(made, brokers)
        leaders, replicas = leaders_of(made, brokers), replicas_of(made, brokers)
        assert [min(leaders), max(leaders)] == vector["leaders"]
        assert vector["replicas"][0] <= min(replicas) <= max(replicas) <= vector["replicas"][1]
        seen.add((min(replicas), max(replicas)))
    assert tuple(vector["replicas"]) in seen
    assert len(seen) == 1 or vector["balance"] == "racks"


class TestLevelOptimal:
    """L1: in every partition, at every node, the children's counts are a water filling."""

    @given(racked_brokers(most=12), st.integers(1, 20), BALANCES, st.randoms(), st.data())
    def test_on_any_tree(self, brokers, partitions, balance, random, data):
        replication = data.draw(st.integers(1, len(brokers)))
        made = place(brokers, partitions, replication, placer=Levels(balance=balance), rng=random)
        check_placement(made, brokers, replication=replication, racks="off", partitions=partitions)
        check_level_optimal(made, brokers)

    @given(racked_brokers(depths=(1, 1), one_depth=True), st.integers(1, 20), st.data())
    def test_racks_of_one_level_are_as_many_as_can_be(self, brokers, partitions, data):
        replication = data.draw(st.integers(1, len(brokers)))
        made = place(brokers, partitions, replication)
        check_placement(made, brokers, replication=replication, racks="aware")

    def test_no_rack_may_be_one_more_rack(self):
        brokers = racked("/a", "/a", None, None)
        made = place(brokers, 8, 2, racks=RackMode.ONE_RACK)
        check_level_optimal(made, brokers)


class TestEvenReplicas:
    """L2: the fullest broker holds the least that any level-optimal placement can have."""

    @given(racked_brokers(), st.integers(1, 24), st.randoms(), st.data())
    def test_by_an_exact_cut(self, brokers, partitions, random, data):
        replication = data.draw(st.integers(1, len(brokers)))
        made = place(brokers, partitions, replication, rng=random)
        check_even_replicas(made, brokers)

    @given(racked_brokers(most=12), st.integers(1, 24), st.data())
    def test_even_racks_share_evenly_what_the_levels_let_them(self, brokers, partitions, data):
        replication = data.draw(st.integers(1, len(brokers)))
        made = place(brokers, partitions, replication, placer=Levels(balance="racks"))
        check_split(made, brokers, by_racks=True)

    @given(racked_brokers(depths=(0, 3), one_depth=True), st.integers(1, 24), st.data())
    def test_never_fuller_than_by_the_ring(self, brokers, partitions, data):
        replication = data.draw(st.integers(1, len(brokers)))
        ours = place(brokers, partitions, replication)
        ring = place(brokers, partitions, replication, placer=Ring(start=0))
        assert max(replicas_of(ours, brokers)) <= max(replicas_of(ring, brokers))


class TestEvenLeaders:
    """L3: no chain of preferred-leader swaps lowers the maximum or raises the minimum."""

    @given(racked_brokers(most=12), st.integers(1, 24), BALANCES, st.randoms(), st.data())
    def test_no_chain_is_left(self, brokers, partitions, balance, random, data):
        replication = data.draw(st.integers(1, len(brokers)))
        made = place(brokers, partitions, replication, placer=Levels(balance=balance), rng=random)
        check_even_leaders(made, brokers)

    @given(racked_brokers(most=12), st.integers(1, 4), st.data())
    def test_equal_where_partitions_are_a_multiple_of_brokers(self, brokers, times, data):
        """KIP-36: all brokers lead the same number.

        Where racks force uneven replicas, few partitions may leave a broker whose sets all have
        other leaders to spare: one more and one fewer.
        """
        replication = data.draw(st.integers(1, len(brokers)))
        made = place(brokers, len(brokers) * times, replication)
        if within_one(replicas_of(made, brokers)):
            check_equal_leaders(made, brokers)
        assert all(abs(led - times) <= 1 for led in leaders_of(made, brokers))


class TestTies:
    """L4: load and rng decide ties only; the same request gives the same rows."""

    def test_the_same_request_gives_the_same_rows(self):
        made = [place(EVEN["no racks"], 9, 3, rng=Random(seed)) for seed in (5, 5, 6)]
        assert made[0] == made[1] != made[2]

    def test_load_breaks_ties(self):
        brokers = racked(None, None, None, None)
        load = Load(replicas={0: 9, 1: 9}, leaders={2: 4})
        made = place(brokers, 1, 2, load=load)
        assert made[0] == (3, 2)

    def test_load_does_not_unbalance_the_topic(self):
        brokers = EVEN["3 racks of 2"]
        load = Load(replicas={0: 10_000}, leaders={1: 10_000})
        made = place(brokers, 60, 3, load=load)
        assert replicas_of(made, brokers) == [30] * 6
        assert leaders_of(made, brokers) == [10] * 6

    def test_small_topics_add_up_when_load_is_told(self):
        brokers, random = racked(*[f"/{i % 3}" for i in range(30)]), Random(3)
        replicas: Counter[int] = Counter()
        leaders: Counter[int] = Counter()
        for _ in range(100):
            partitions = random.randrange(1, 13)
            load = Load(replicas=replicas, leaders=leaders)
            made = place(brokers, partitions, 3, load=load, rng=random)
            replicas.update(made.rows.ravel().tolist())
            leaders.update(made.leaders.tolist())
        assert max(replicas.values()) - min(replicas.values()) <= 2
        assert max(leaders.values()) - min(leaders.values()) <= 2

    @given(racked_brokers(), st.integers(1, 12), st.randoms(), st.data())
    def test_the_order_of_brokers_changes_nothing(self, brokers, partitions, random, data):
        replication = data.draw(st.integers(1, len(brokers)))
        others = list(brokers)
        random.shuffle(others)
        made = place(brokers, partitions, replication)
        assert place(others, partitions, replication) == made


class TestAdding:
    @given(racked_brokers(), st.integers(1, 24), st.integers(1, 24), BALANCES, st.data())
    def test_new_rows_make_up_for_old_ones(self, brokers, before, more, balance, data):
        """L1 to L3 with what is there counted in; at most a unit less even than in one go."""
        replication = data.draw(st.integers(1, len(brokers)))
        placer = Levels(balance=balance)
        start = place(brokers, before, replication, placer=placer)
        added = add_partitions(start, brokers, more, placer=placer)
        check_level_optimal(added, brokers)
        check_even_leaders(added, brokers, before=Counter(start.leaders.tolist()))
        both = Placement(rows=np.concatenate((start.rows, added.rows)))
        whole = place(brokers, before + more, replication, placer=placer)
        assert max(replicas_of(both, brokers)) <= max(replicas_of(whole, brokers)) + 1
        if balance == "brokers":
            assert spread(leaders_of(both, brokers)) <= spread(leaders_of(whole, brokers)) + 2

    @pytest.mark.parametrize("name", EVEN)
    def test_on_even_trees_replicas_are_as_even_as_in_one_go(self, name):
        brokers, random = EVEN[name], Random(1)
        for _ in range(20):
            before, more, replication = (random.randrange(1, top) for top in (60, 60, 6))
            start = place(brokers, before, replication)
            added = add_partitions(start, brokers, more)
            both = Placement(rows=np.concatenate((start.rows, added.rows)))
            assert within_one(replicas_of(both, brokers))
            assert spread(leaders_of(both, brokers)) <= 2

    def test_rows_on_brokers_that_are_gone_do_not_count(self):
        brokers = racked("/a", "/b")
        start = Placement(rows=np.array([[9, 0], [9, 0]]))
        assert leaders_of(add_partitions(start, brokers, 2), brokers) == [1, 1]

    def test_an_unbalanced_start_is_made_up_for(self):
        brokers = racked(None, None, None)
        start = Placement(rows=np.array([[0, 1]] * 10))
        added = add_partitions(start, brokers, 10)
        assert replicas_of(added, brokers) == [5, 5, 10]
        assert leaders_of(added, brokers) == [0, 5, 5]


def spread(counts):
    return max(counts) - min(counts)


class TestPrefixes:
    @pytest.mark.parametrize("name", EVEN)
    @pytest.mark.parametrize("replication", [2, 3, 4])
    def test_the_first_partitions_of_any_number_are_even(self, name, replication):
        brokers = EVEN[name]
        made = place(brokers, 240, replication)
        held = np.zeros(len(brokers))
        for m, row in enumerate(made.rows.tolist(), start=1):
            held[row] += 1
            assert np.abs(held - m * replication / len(brokers)).max() <= 6


def fork(*racks):
    """Brokers 0, 1, .. by data centre and rack."""
    return racked(*(f"/{dc}/{rack}" for dc, rack in racks))


TWO_BY_TWO = fork(*((dc, rack) for dc in "12" for rack in "ab" for _ in range(2)))
TWO_BY_THREE = fork(*((dc, rack) for dc in "12" for rack in "abc" for _ in range(2)))
UNEVEN_RACKS = fork("1a", "1a", "1b", "1c", "2a", "2b", "2b", "2c")


def numbered(told):
    return tuple(Broker(id=id_, rack=Rack(rack)) for id_, rack in told.items())


ONE_RACK_EACH = numbered({id_: f"/{1 + (id_ > 8)}/a" for id_ in range(6, 12)})
SINGLE = numbered({0: "/1/a", 1: "/1/b", 4: "/2/a", 7: "/2/b"})
MIXED = numbered({0: "/1/a", 1: "/1/b", 2: "/2/a", 5: "/2/a", 3: "/2/b", 4: "/2/b"})
ALL = ("racks", "leaders", "replicas", "level")
FORK = {
    "even": (TWO_BY_TWO, 8, 4, ALL),
    "uneven replicas": (TWO_BY_TWO, 12, 3, ("racks", "level")),
    "uneven racks": (UNEVEN_RACKS, 8, 3, ("racks", "leaders", "level")),
    "two replicas": (TWO_BY_THREE, 12, 2, ALL),
    "large": (TWO_BY_THREE, 96, 3, ALL),
    "one rack a data centre": (ONE_RACK_EACH, 12, 2, ALL),
    "single brokers": (SINGLE, 4, 2, ALL),
    "more replicas than racks": (MIXED, 6, 5, ("racks",)),
    "fewer replicas than racks": (MIXED, 6, 2, ("racks",)),
}


class TestListOfTheFork:
    """What a public implementation of KIP-879 tests of its own placements, with 100 seeds."""

    @pytest.mark.parametrize("name", FORK)
    def test_even_racks(self, name):
        brokers, partitions, replication, wanted = FORK[name]
        for seed in range(100):
            made = place(
                brokers, partitions, replication, placer=Levels(balance="racks"), rng=Random(seed)
            )
            held = properties(made, brokers, replication)
            assert set(wanted) <= held, f"seed {seed}: {set(wanted) - held}"

    def test_even_brokers_trade_the_levels_for_replicas(self):
        brokers, partitions, replication, _ = FORK["uneven racks"]
        for seed in range(100):
            made = place(brokers, partitions, replication, rng=Random(seed))
            assert {"racks", "leaders", "replicas"} <= properties(made, brokers, replication)


def properties(made, brokers, replication):
    """Which of the fork's properties hold: level = within 1 over the nodes of each depth."""
    tree = rack_tree(brokers)
    racks = [
        frozenset().union(*children.values()) for node, children in tree.items() if len(node) == 2
    ]
    found = set()
    most = min(replication, len(racks))
    if all(sum(bool(rack & set(made[p])) for rack in racks) == most for p in made):
        found.add("racks")
    if within_one(leaders_of(made, brokers)):
        found.add("leaders")
    if within_one(replicas_of(made, brokers)):
        found.add("replicas")
    held = Counter(id_ for p in made for id_ in made[p])
    by_depth: dict[int, list[int]] = {}
    for children in tree.values():
        for child, below in children.items():
            if len(child) <= 2:
                by_depth.setdefault(len(child), []).append(sum(held[id_] for id_ in below))
    if all(within_one(counts) for counts in by_depth.values()):
        found.add("level")
    return found


def test_frozen_rows_are_those_of_the_first_release():
    assert frozen() == answers()


def test_another_balance_is_refused():
    with pytest.raises(InvalidConfig) as caught:
        Levels(balance="zones")
    assert str(caught.value) == "invalid balance: expected brokers or racks, got zones"


def test_more_replicas_than_brokers_are_refused():
    with pytest.raises(NotEnoughBrokers):
        Levels().place(Request(brokers=racked("/a", "/b"), partitions=1, replication=3))
