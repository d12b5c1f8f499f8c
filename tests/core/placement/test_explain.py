"""Explain counts, names heirs, and says in words what the racks force."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_levels import forced_nodes, is_level_optimal, rack_tree
from placements import racked
from rackwise import Levels, Placement, place
from rackwise.core.placement import Ring, explain
from strategies import racked_brokers

LONE = racked("/a", "/a", "/b", "/b", "/c")
UNEVEN = racked(*("/1/a", "/1/b", *["/1/c"] * 4, *["/2/a"] * 2, *["/2/b"] * 2, *["/2/c"] * 2))


def placed(*rows):
    return Placement(rows=np.array(rows))


class TestCounts:
    def test_brokers_and_racks(self):
        report = explain(placed((0, 2), (2, 4), (4, 1)), LONE)
        assert (report.partitions, report.replicas) == (3, 6)
        assert [(b.id, b.replicas, b.leaders) for b in report.brokers] == [
            (0, 1, 1),
            (1, 1, 0),
            (2, 2, 1),
            (3, 0, 0),
            (4, 2, 1),
        ]
        assert [(r.rack, r.brokers, r.replicas, r.leaders) for r in report.racks] == [
            ("/a", 2, 2, 1),
            ("/b", 2, 2, 1),
            ("/c", 1, 2, 1),
        ]

    def test_coarser_racks_come_first(self):
        racks = [share.rack for share in explain(place(UNEVEN, 1, 1), UNEVEN).racks]
        assert racks == ["/1", "/1/a", "/1/b", "/1/c", "/2", "/2/a", "/2/b", "/2/c"]

    def test_brokers_are_told_in_id_order_whatever_their_racks(self):
        report = explain(placed((0, 1, 2)), racked("/b", "/a", "/b"))
        assert [broker.id for broker in report.brokers] == [0, 1, 2]

    def test_the_fullest_broker_in_even_shares(self):
        report = explain(place(LONE, 50, 3), LONE)
        assert (report.even_share, report.most_over_even) == (30, Fraction(5, 3))
        assert report.is_uneven
        assert not explain(place(LONE, 50, 2), LONE).is_uneven

    def test_nothing_placed(self):
        report = explain(Placement.of({}), LONE)
        assert (report.replicas, report.most_over_even, report.heir) == (0, 0, None)
        assert (report.forced, report.lines()) == ((), ())

    def test_brokers_that_are_gone_are_listed_and_counted_nowhere(self):
        report = explain(placed((0, 9), (7, -1)), LONE)
        assert report.strangers == (7, 9)
        assert report.replicas == 3
        assert sum(broker.replicas for broker in report.brokers) == 1
        assert "rows name brokers that the cluster does not have: 7, 9" in report.lines()

    def test_brokers_without_rack_count_as_one_more_rack(self):
        report = explain(placed((0, 1)), racked("/a", None))
        assert [share.rack for share in report.racks] == ["(no rack)", "/a"]


class TestHeirs:
    def test_the_greatest_part_that_one_other_inherits(self):
        report = explain(placed((0, 1), (0, 2), (0, 2), (1, 2), (1, 0)), LONE)
        assert report.heir == (0, 2, 2, 3)

    def test_a_leader_alone_has_no_heir(self):
        assert explain(placed((0,), (1,)), LONE).heir is None
        assert explain(placed((0, -1), (1, 2)), LONE).heir == (1, 2, 1, 1)

    def test_levels_spread_what_the_ring_gives_to_one(self):
        brokers = racked(*[f"/{i % 3}" for i in range(12)])
        *_, inherited, led = explain(place(brokers, 120, 3), brokers).heir
        assert inherited <= Fraction(3, 10) * led
        *_, inherited, led = explain(place(brokers, 120, 3, placer=Ring(start=0)), brokers).heir
        assert inherited == led


class TestForced:
    def test_a_lone_broker_must_hold_one_of_each(self):
        """KAFKA-3438 asks that users are told that uneven racks force uneven brokers."""
        report = explain(place(LONE, 50, 3), LONE)
        only = "can only hold 50 of 50 partitions: replication 3 over 3 racks; an even share is 60"
        must = "must hold 50 of 50 partitions: replication 3 over 3 racks; an even share is 30"
        assert report.lines() == (
            f"rack /a (2 brokers) {only}",
            f"rack /b (2 brokers) {only}",
            f"rack /c (1 broker) {must}",
        )
        lone = report.forced[2]
        assert (lone.name, lone.brokers, lone.least, lone.most) == ("/c", 1, 1, 1)
        assert (lone.even, lone.is_up) == (30, True)

    def test_racks_below_a_rack_and_replicas_beyond_partitions(self):
        report = explain(place(UNEVEN, 100, 7), UNEVEN)
        of = "partitions: 3 to 4 of the replicas below /1 over 3 racks; an even share is"
        assert [force.text for force in report.forced] == [
            f"rack /1/a (1 broker) must hold 100 of 100 {of} 58.3",
            f"rack /1/b (1 broker) must hold 100 of 100 {of} 58.3",
            f"rack /1/c (4 brokers) can only hold 200 replicas of 100 {of} 233.3",
        ]

    def test_a_broker_beside_racks(self):
        brokers = racked("/", *["/a"] * 3)
        (up, down) = explain(place(brokers, 10, 2), brokers).forced
        assert up.text == (
            "broker 0 must hold 10 of 10 partitions: replication 2 over 2 racks; an even share is 5"
        )
        assert down.name == "/a"

    def test_rows_of_different_length_force_nothing(self):
        assert explain(placed((0, 2, 4), (0, 2, -1)), LONE).forced == ()

    def test_more_replicas_than_brokers_force_nothing(self):
        assert explain(placed((0, 1, 2)), racked("/a", "/b")).forced == ()

    @given(racked_brokers(most=8, depths=(1, 4)), st.data())
    def test_they_are_those_of_brute_force(self, brokers, data):
        replication = data.draw(st.integers(1, len(brokers)))
        report = explain(place(brokers, 3, replication), brokers)
        tree, forced = rack_tree(brokers), forced_nodes(brokers, replication)
        wanted = {
            "/" + "/".join(child) if child in tree else str(child[-1])
            for children in tree.values()
            if len(children) > 1 and any(child in tree for child in children)
            for child in children
            if child in forced
        }
        assert {force.name for force in report.forced} == wanted


class TestLevels:
    def test_partitions_that_could_be_spread_better(self):
        report = explain(placed((0, 1), (0, 2), (2, 3)), LONE)
        assert report.uneven_partitions == 2
        assert report.lines() == ("2 of 3 partitions could be spread better over the racks",)

    @given(racked_brokers(), st.integers(1, 6), st.randoms(), st.data())
    def test_they_are_those_of_the_law(self, brokers, partitions, random, data):
        size = data.draw(st.integers(1, len(brokers)))
        ids = [broker.id for broker in brokers]
        rows = [random.sample(ids, size) for _ in range(partitions)]
        tree = rack_tree(brokers)
        wanted = sum(not is_level_optimal(row, tree) for row in rows)
        assert explain(placed(*rows), brokers).uneven_partitions == wanted

    def test_more_rows_than_one_block(self):
        brokers = racked("/a", "/a", "/b")
        rows = np.tile(np.array([[0, 1], [0, 2]], dtype=np.int32), (40_000, 1))
        assert explain(Placement(rows=rows), brokers).uneven_partitions == 40_000


@pytest.mark.parametrize("balance", ["brokers", "racks"])
@given(racked_brokers(), st.integers(1, 8), st.data())
def test_what_levels_makes_is_even_at_every_level(balance, brokers, partitions, data):
    replication = data.draw(st.integers(1, len(brokers)))
    made = place(brokers, partitions, replication, placer=Levels(balance=balance))
    report = explain(made, brokers)
    assert report.uneven_partitions == 0
    counts = Counter(made.rows.ravel().tolist())
    assert {share.id: share.replicas for share in report.brokers if share.replicas} == counts
