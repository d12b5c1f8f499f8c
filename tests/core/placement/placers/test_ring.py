"""KIP-879's algorithm, each step by its own words, and the faults that come with it."""

from collections import Counter
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_levels import check_level_optimal
from laws_placement import check_placement
from placements import brokers_of, placement_vectors, racked
from rackwise import Placement, add_partitions, change_replication, place
from rackwise.core.errors import DuplicateReplica, InvalidConfig, InvalidRack
from rackwise.core.placement import JavaRandom, RackMode, Request, Ring
from strategies import racked_brokers

VECTORS = placement_vectors("ring")
EVEN = racked("/0", "/1", "/2", "/0", "/1", "/2")
DEEP = racked(*("/1/a", "/1/b", *["/1/c"] * 4, *["/2/a"] * 2, *["/2/b"] * 2, *["/2/c"] * 2))
DATA_CENTRES = racked(*(f"/{dc}/{rack}" for dc in "xyz" for rack in "ab" for _ in range(2)))
FLAT = racked("/a", "/a", "/b", "/b", "/c")


def rows(brokers, partitions, replication, *, start=0, **options):
    placer = Ring(start=start, **options)
    return place(brokers, partitions, replication, placer=placer).rows.tolist()


def rows_drawn(brokers, partitions, replication, seed):
    return place(
        brokers, partitions, replication, placer=Ring(), rng=JavaRandom(seed)
    ).rows.tolist()


def skips(told):
    return ("subtree", "root", "none") if told.startswith("any") else (told,)


@pytest.mark.parametrize(
    ("vector", "skip"),
    [
        pytest.param(vector, skip, id=f"{number} {vector['name']} {skip}")
        for number, vector in enumerate(VECTORS)
        for skip in skips(vector["skip"])
    ],
)
def test_vectors(vector, skip):
    brokers = brokers_of(vector["brokers"])
    size = vector["partitions"], vector["replication"]
    doubled = vector.get("duplicate_partitions")
    if doubled:
        row = vector["rows"][doubled[0]]
        with pytest.raises(DuplicateReplica, match=":".join(map(str, row))) as caught:
            rows(brokers, *size, start=vector["start"], skip=skip)
        assert f"partition {doubled[0]} broker " in str(caught.value)
    else:
        assert rows(brokers, *size, start=vector["start"], skip=skip) == vector["rows"]


class TestEveryRackDefinitionMustStartWithASlash:
    """KIP-879: "Every rack definition must start with "/". This is the root node."."""

    def test_a_plain_name_is_refused(self):
        with pytest.raises(InvalidRack) as caught:
            rows(racked("a", "b"), 1, 1)
        assert str(caught.value) == (
            "ring wants rack paths that begin with /; broker 0 has the name a"
        )
        assert caught.value.hint == (
            "write racks as paths such as /eu/a, or place with levels or kip36"
        )
        assert caught.value.where == "broker 0"

    def test_the_slash_alone_is_the_root(self):
        assert rows(racked("/a", "/", "/a"), 3, 1) == [[1], [0], [1]]

    def test_brokers_without_racks_stand_below_the_root(self):
        assert rows(racked(None, None, None), 2, 2) == [[0, 1], [2, 0]]

    def test_no_rack_may_be_one_more_rack(self):
        made = place(racked("/a", None), 2, 1, placer=Ring(start=0), racks=RackMode.ONE_RACK)
        assert made.rows.tolist() == [[1], [0]]


class TestARingInEveryNode:
    """KIP-879: "In every node we define a ring that'll iterate through the children (and it'll
    continue at the beginning if it reaches the last children). It by default points to a random
    leaf to ensure the even distribution of replicas of different partitions on the cluster.".
    """

    def test_the_ring_continues_at_the_beginning(self):
        assert rows(racked("/a", "/b", "/c"), 4, 1) == [[0], [1], [2], [0]]

    def test_start_points_every_ring_at_one_child(self):
        assert rows(racked("/a", "/a", "/b", "/b"), 2, 2, start=1) == [[3, 1], [2, 0]]
        assert rows(racked("/a", "/a", "/b", "/b"), 2, 2, start=5) == [[3, 1], [2, 0]]

    @pytest.mark.parametrize("brokers", [FLAT, DEEP, racked("/a", "/a", "/a", "/b/x", "/")])
    def test_every_broker_is_equally_likely_to_lead_partition_0(self, brokers):
        firsts = Counter(
            place(brokers, 1, 1, placer=Ring(), rng=JavaRandom(seed))[0][0] for seed in range(3000)
        )
        share = 3000 / len(brokers)
        assert set(firsts) == {broker.id for broker in brokers}
        assert all(0.8 * share < found < 1.2 * share for found in firsts.values())

    @pytest.mark.parametrize("count", [2, 4, 8, 16])
    def test_neighbouring_seeds_point_at_different_leaves(self, count):
        """The first draws of `java.util.Random` below a power of two are equal for them."""
        brokers = racked(*[None] * count)
        made = [place(brokers, 1, 1, placer=Ring(), rng=JavaRandom(seed))[0] for seed in range(40)]
        assert len(set(made)) >= count * 3 // 4

    def test_the_rings_of_racks_do_not_point_at_equal_children(self):
        """One draw decides all of them, and each on its own."""
        brokers = racked("/a", "/a", "/b", "/b")
        made = {tuple(rows_drawn(brokers, 1, 2, seed)[0]) for seed in range(60)}
        assert len(made) == 8

    @pytest.mark.parametrize(
        ("brokers", "seed", "wanted"),
        [
            (DATA_CENTRES, 1, [[3, 6, 9], [0, 4, 11]]),
            (DATA_CENTRES, 2, [[5, 10, 1], [6, 8, 2]]),
            (DEEP, 1, [[5, 11, 0], [6, 1, 9]]),
            (DEEP, 2, [[2, 6, 0], [8, 1, 10]]),
        ],
    )
    def test_the_rows_of_a_seed_stay_in_later_versions(self, brokers, seed, wanted):
        """A seed is printed so that the rows can be made again: other rows are a change."""
        assert rows_drawn(brokers, 2, 3, seed) == wanted

    def test_drawn_rings_repeat_with_their_seed(self):
        made = [rows_drawn(DEEP, 9, 3, seed) for seed in (1, 1, 2)]
        assert made[0] == made[1] != made[2]

    def test_without_start_and_rng_it_is_refused(self):
        with pytest.raises(InvalidConfig) as caught:
            rows(EVEN, 1, 1, start=None)
        assert str(caught.value) == "invalid start: expected a start or an rng, got neither"
        assert caught.value.hint == "give start=0, or a seeded rng"


class TestTheChildPointedAtIsTakenAndThePointerMoves:
    """KIP-879: "On adding a new replica on every level we select the child that is pointed by the
    iterator, pass down the replica to that and increment the pointer.".
    """

    @given(racked_brokers(most=8), st.integers(1, 12), st.integers(0, 5), st.data())
    def test_rows_are_those_of_a_walk_written_out(self, brokers, partitions, start, data):
        replication = data.draw(st.integers(1, len(brokers)))
        wanted = walked(brokers, partitions * replication, start)
        wanted = [wanted[i : i + replication] for i in range(0, len(wanted), replication)]
        clean = next((i for i, row in enumerate(wanted) if len(set(row)) < len(row)), len(wanted))
        assert rows(brokers, partitions, replication, start=start)[:clean] == wanted[:clean]
        if clean < partitions:
            with pytest.raises(DuplicateReplica, match=f"partition {clean} broker "):
                rows(brokers, partitions, replication, start=start, skip="none")
        else:
            assert rows(brokers, partitions, replication, start=start, skip="none") == wanted


def walked(brokers, picks, start):
    """The algorithm of the KIP, one pick after another, on nested dictionaries."""
    tree = {}
    for broker in sorted(brokers, key=lambda broker: broker.id):
        node = tree
        for segment in broker.rack.levels if broker.rack else ():
            node = node.setdefault((1, segment), {})
        node[0, broker.id] = broker.id
    pointers = {}

    def pick(node, at):
        if isinstance(node, int):
            return node
        children = sorted(node)
        pointer = pointers.get(at, start % len(children))
        pointers[at] = (pointer + 1) % len(children)
        return pick(node[children[pointer]], (*at, children[pointer]))

    return [pick(tree, ()) for _ in range(picks)]


class TestUntilTheLeafIsReached:
    """KIP-879: "Repeat the previous step for the child we passed down this replica until the leaf
    is reached.".
    """

    def test_three_data_centres_of_two_racks(self):
        assert rows(DATA_CENTRES, 2, 3) == [[0, 4, 8], [2, 6, 10]]

    def test_leaves_of_different_depth(self):
        assert rows(racked("/a", "/b/x", "/b/y"), 4, 1) == [[0], [1], [0], [2]]


class TestPickUpWhereTheLastPartitionWasLeft:
    """KIP-879: "To increase the replication factor, we basically pick up where the algorithm left
    the last partition and continue with the above algorithm from the next node that'd be given by
    the algorithm.".
    """

    def test_replicas_are_added_from_there(self):
        before = place(racked(*[f"/{i}" for i in range(7)]), 3, 2, placer=Ring(start=0))
        after = change_replication(
            before, racked(*[f"/{i}" for i in range(7)]), 3, placer=Ring(start=0)
        )
        assert after.rows.tolist() == [[0, 1, 6], [2, 3, 0], [4, 5, 1]]

    def test_even_trees_repeat_brokers_here_too(self):
        """3 racks of 2, 4 partitions, from 2 replicas to 3: partition 2 holds 4, 5, is given 4."""
        before = place(EVEN, 4, 2, placer=Ring(start=0))
        assert before.rows.tolist() == [[0, 1], [2, 3], [4, 5], [0, 1]]
        assert walked(EVEN, 12, 0)[8:] == [2, 3, 4, 5]
        with pytest.raises(DuplicateReplica) as caught:
            change_replication(before, EVEN, 3, placer=Ring(start=0, skip="none"))
        assert str(caught.value) == ("the rule of KIP-879 gives partition 1 broker 3 twice: 2:3:3")
        assert caught.value.hint == "use skip=subtree, or place with levels"

    @pytest.mark.parametrize("skip", ["subtree", "root"])
    def test_a_repeat_is_skipped(self, skip):
        before = place(EVEN, 4, 2, placer=Ring(start=0, skip=skip))
        after = change_replication(before, EVEN, 3, placer=Ring(start=0, skip=skip))
        assert (after.rows[:, :2] == before.rows).all()
        check_placement(after, EVEN, replication=3, racks="off")

    def test_fewer_replicas_leave_leaders(self):
        before = place(EVEN, 4, 3, placer=Ring(start=0))
        after = change_replication(before, EVEN, 2, placer=Ring(start=0))
        assert (after.leaders == before.leaders).all()
        check_placement(after, EVEN, replication=2, racks="aware")

    def test_a_start_is_replayed(self):
        """7 brokers, 3 partitions of 2 from start 0: the next picks are 6, 0, 1."""
        brokers = racked(*[f"/{i}" for i in range(7)])
        existing = place(brokers, 3, 2, placer=Ring(start=2))
        assert add_partitions(existing, brokers, 1, placer=Ring(start=0))[3] == (6, 0)

    @pytest.mark.parametrize("start", range(4))
    @pytest.mark.parametrize("brokers", [EVEN, DEEP, DATA_CENTRES, FLAT])
    def test_without_start_it_is_found_in_the_rows(self, brokers, start):
        """Every ring has been reached, so nothing has to be drawn."""
        made_with, found = Ring(start=start), Ring()
        before = place(brokers, 36, 3, placer=made_with)
        wanted = add_partitions(before, brokers, 7, placer=made_with)
        assert add_partitions(before, brokers, 7, placer=found) == wanted
        wanted = change_replication(before, brokers, 4, placer=made_with)
        assert change_replication(before, brokers, 4, placer=found) == wanted

    @given(racked_brokers(most=8), st.integers(1, 8), st.integers(1, 8), st.data())
    def test_found_rings_go_on_as_if_all_had_been_made_at_once(self, brokers, before, more, data):
        """Rings that no replica has reached are drawn as for a new topic."""
        replication, seed = data.draw(st.integers(1, len(brokers))), data.draw(st.integers(0, 9))
        whole = rows_drawn(brokers, before + more, replication, seed)
        existing = place(brokers, before, replication, placer=Ring(), rng=JavaRandom(seed))
        added = add_partitions(existing, brokers, more, placer=Ring(), rng=JavaRandom(seed))
        assert whole == [*existing.rows.tolist(), *added.rows.tolist()]

    def test_the_ring_goes_on_after_the_last_replica_when_a_rack_has_joined(self):
        existing = place(racked("/a", "/b", "/c"), 2, 2, placer=Ring(start=0))
        assert existing.rows.tolist() == [[0, 1], [2, 0]]
        joined = racked("/a", "/b", "/c", "/d")
        added = add_partitions(existing, joined, 2, placer=Ring(), rng=JavaRandom(1))
        assert added.rows.tolist() == [[1, 2], [3, 0]]

    def test_rows_of_another_placer_and_brokers_that_are_gone(self):
        existing = Placement.of({0: [1, 9], 1: [0, 2], 2: [1, 9]})
        added = add_partitions(existing, racked("/a", "/b", "/c"), 2, placer=Ring())
        assert added.rows.tolist() == [[2, 0], [1, 2]]

    def test_a_ring_that_no_replica_has_reached_is_drawn(self):
        existing = Placement.of({0: [0]})
        brokers = racked("/a", "/b", "/b", "/b")
        made = {
            add_partitions(existing, brokers, 1, placer=Ring(), rng=JavaRandom(seed))[1]
            for seed in range(20)
        }
        assert made == {(1,), (2,), (3,)}
        with pytest.raises(InvalidConfig, match="expected a start or an rng"):
            add_partitions(existing, brokers, 1, placer=Ring())

    @given(
        racked_brokers(most=8),
        st.integers(1, 8),
        st.integers(1, 8),
        st.sampled_from(["subtree", "root"]),
        st.data(),
    )
    def test_partitions_are_added_as_if_all_had_been_made_at_once(
        self, brokers, before, more, skip, data
    ):
        replication = data.draw(st.integers(1, len(brokers)))
        placer = Ring(start=data.draw(st.integers(0, 3)), skip=skip)
        whole = place(brokers, before + more, replication, placer=placer)
        start = place(brokers, before, replication, placer=placer)
        added = add_partitions(start, brokers, more, placer=placer)
        assert whole.rows.tolist() == [*start.rows.tolist(), *added.rows.tolist()]

    def test_so_with_skip_none_while_nothing_repeats(self):
        placer = Ring(start=0, skip="none")
        start = place(DATA_CENTRES, 5, 3, placer=placer)
        added = add_partitions(start, DATA_CENTRES, 4, placer=placer)
        assert added.rows.tolist() == rows(DATA_CENTRES, 9, 3)[5:]


class TestSkip:
    def test_a_full_child_is_passed_over_at_its_own_level(self):
        assert rows(FLAT, 3, 4)[2] == [4, 1, 3, 0]

    def test_restarting_at_the_root_breaks_the_spread_of_levels(self):
        """60 of 120 rows of DC1 {1, 1, 4} and DC2 {2, 2, 2}, 8 replicas."""
        broken = 0
        for partition in range(120):
            row = place(DEEP, 120, 8, placer=Ring(start=0, skip="root"))[partition]
            broken += sum(id_ < 6 for id_ in row) != 4
        assert broken == 60

    @given(racked_brokers(depths=(0, 3), one_depth=True), st.integers(1, 12), st.data())
    def test_passing_over_keeps_it_where_paths_are_of_one_depth(self, brokers, partitions, data):
        replication = data.draw(st.integers(1, len(brokers)))
        made = place(brokers, partitions, replication, placer=Ring(start=0))
        check_level_optimal(made, brokers)


class TestFaultsOfTheRule:
    """They are the KIP's, kept, and asserted as facts."""

    @pytest.mark.parametrize("replication", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("brokers", [EVEN, DATA_CENTRES, racked(*[None] * 7)])
    def test_on_even_trees_only_some_brokers_ever_lead(self, brokers, replication):
        made = place(brokers, 500, replication, placer=Ring(start=0))
        wanted = len(brokers) // gcd(len(brokers), replication)
        assert len(set(made.leaders.tolist())) == wanted

    def test_eight_of_twelve_brokers_lead_nothing(self):
        made = place(DATA_CENTRES, 120, 3, placer=Ring(start=0))
        assert len(set(made.leaders.tolist())) == 4

    def test_there_are_few_different_sets(self):
        assert len({frozenset(row) for row in rows(EVEN, 600, 3)}) == 2

    def test_a_dead_broker_leaves_all_to_one_other(self):
        seconds = {}
        for leader, second, *_ in rows(EVEN, 600, 3):
            seconds.setdefault(leader, set()).add(second)
        assert all(len(heirs) == 1 for heirs in seconds.values())

    def test_on_uneven_trees_a_share_is_the_product_of_one_over_children(self):
        held = Counter(id_ for row in rows(DEEP, 240, 1) for id_ in row)
        assert [held[id_] for id_ in range(12)] == [40, 40, *[10] * 4, *[20] * 6]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": -1}, "invalid start: expected an integer >= 0, got -1"),
        ({"start": True}, "invalid start: expected an integer >= 0, got True"),
        ({"skip": "leaf"}, "invalid skip: expected one of subtree, root, none, got leaf"),
    ],
)
def test_other_options_are_refused(options, message):
    with pytest.raises(InvalidConfig) as caught:
        Ring(**options)
    assert str(caught.value) == message


def test_a_request_without_rows_to_change_is_refused():
    request = Request(brokers=EVEN, partitions=1, replication=2)
    with pytest.raises(ValueError, match="expected existing rows, got none"):
        Ring().change(request)
