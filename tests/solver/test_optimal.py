"""The best assignment: upstream's examples, proven optima, and the laws of any optimum."""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignments import consumer_vectors, group_of, members_of, replicas_in, tps
from laws import (
    check_assignment,
    check_names_of_racks,
    check_optimum,
    check_order_of_joining,
    check_settled,
    check_together,
)
from naive_optimal import Reading
from rackwise.core.assignors import (
    Member,
    TopicPartition,
    assign_optimal,
    assign_range,
    assign_sticky,
    evaluate,
)
from rackwise.core.assignors.optimal.assign import BALANCES
from rackwise.core.errors import (
    InvalidConfig,
    InvalidMember,
    InvalidReplicaRacks,
    InvalidWeights,
    OptimumTooLarge,
)
from strategies import consumer_groups, few_partitions

VECTORS = consumer_vectors("optimal")["cases"]


def as_path(rack):
    return f"/{rack}" if rack and "/" in rack else rack


def vector_group(case):
    members = members_of(
        [{**member, "rack": as_path(member["rack"])} for member in case["members"]]
    )
    racks = {
        topic: [[as_path(rack) for rack in row] for row in partitions]
        for topic, partitions in case["topics"].items()
    }
    return members, racks


def vector_weights(case):
    told = case.get("weights")
    return told and {tps(name)[0]: weight for name, weight in told.items()}


def assigned(case, **more):
    members, racks = vector_group(case)
    options = {"target": case["target"], "weights": vector_weights(case)}
    made = assign_optimal(members, racks, balance=case["balance"], **options, **more)
    return made, evaluate(made, members, racks, **options)


class TestKip881:
    """KIP-881: prioritize balancing partitions over improving locality."""

    @pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["id"])
    def test_proven_optima(self, case):
        made, report = assigned(case)
        members, racks = vector_group(case)
        reading = Reading(members, racks, balance=case["balance"], target=case["target"])
        wanted = case["optimum"]
        crossed = [
            level.partitions if level.bytes_per_s is None else level.bytes_per_s
            for level in report.cross_by_level
        ]
        assert reading.value(made)[0] == wanted["sum_of_squares"]
        assert crossed == wanted["cross_by_level"]
        assert report.moves == wanted["moves"]
        assert report.local == wanted.get("local", report.local)
        if case["balance"] == "total":
            loads = sorted(reads.partitions for reads in report.by_member.values())
            assert loads == wanted["sizes"]
        check_assignment(made, members, {topic: len(racks[topic]) for topic in racks})

    @pytest.mark.parametrize(
        "case", [case for case in VECTORS if "explain" in case], ids=lambda case: case["id"]
    )
    def test_scarcest_racks_limit_locality(self, case):
        assert assigned(case)[1].local == case["explain"]["best_local"]

    def test_balance_comes_before_locality(self):
        members = group_of(["t"], m1="a", m2="b")
        made = assign_optimal(members, replicas_in(t="a a a a"))
        assert [len(mine) for mine in made.partitions.values()] == [2, 2]

    def test_example_group_that_sticky_never_improves(self):
        racks = replicas_in(t="a ab b ba")
        member = Member(topics=("t",), rack="a", owned=tps("t-0 t-2"), generation=1)
        other = replace(member, rack="b", owned=tps("t-1 t-3"))
        members = {"m1": member, "m2": other}
        sums = [
            (report.local, report.moves)
            for assign in (assign_sticky, assign_optimal)
            for report in [evaluate(assign(members, racks), members, racks)]
        ]
        assert sums == [(3, 0), (4, 2)]

    def test_locality_comes_before_stickiness(self):
        member = Member(topics=("t",), rack="a", owned=tps("t-0 t-1"), generation=3)
        other = replace(member, rack="b", owned=tps("t-2 t-3"))
        made = assign_optimal({"m1": member, "m2": other}, replicas_in(t="b b a a"))
        assert made.partitions == {"m1": tps("t-2 t-3"), "m2": tps("t-0 t-1")}


class TestOptimality:
    @given(few_partitions(), st.sampled_from(BALANCES), st.data())
    def test_no_assignment_is_better(self, group, balance, data):
        members, racks = group
        target = data.draw(st.sampled_from(["follower", "leader", "nearest"]))
        every = [(topic, number) for topic in racks for number in range(len(racks[topic]))]
        weights = None
        if every and data.draw(st.booleans()):
            weights = data.draw(st.dictionaries(st.sampled_from(every), st.integers(0, 3)))
        options = {"balance": balance, "target": target, "weights": weights}
        depth = Reading(members, racks).depth
        if data.draw(st.booleans()):
            costs = st.lists(st.integers(0, 4), min_size=depth + 1, max_size=depth + 1)
            options["level_costs"] = data.draw(costs)
        check_optimum(assign_optimal(members, racks, **options), members, racks, **options)

    @given(few_partitions(same=True))
    def test_locality_equals_the_formula(self, group):
        members, racks = group
        flat = {
            key: replace(member, rack=member.rack and member.rack.strip("/"))
            for key, member in members.items()
        }
        told = {
            topic: [[rack and rack.strip("/") for rack in row] for row in rows]
            for topic, rows in racks.items()
        }
        local = evaluate(assign_optimal(flat, told), flat, told).local
        assert local == Reading(flat, told).best_local()

    @given(consumer_groups(owned=True))
    def test_sticky_with_equal_balance_is_not_more_local(self, group):
        members, racks = group
        reading = Reading(members, racks)
        best, other = (
            reading.value(made)
            for made in (assign_optimal(members, racks), assign_sticky(members, racks))
        )
        assert best <= other

    @given(consumer_groups())
    def test_range_is_not_more_local(self, group):
        members, racks = group
        reading = Reading(members, racks, balance="columns")
        made = assign_optimal(members, racks, balance="columns")
        check_together(made, members, {topic: len(racks[topic]) for topic in racks})
        assert reading.value(made) <= reading.value(assign_range(members, racks))

    def test_ten_topics_with_common_columns(self):
        (case,) = [case for case in VECTORS if case["id"] == "columns/10x12-rf1"]
        members, racks = vector_group(case)
        columns = evaluate(assign_optimal(members, racks, balance="columns"), members, racks)
        assert (columns.local, evaluate(assign_range(members, racks), members, racks).local) == (
            53,
            38,
        )


class TestCooperativeRebalance:
    """KIP-429: at most two rounds; then nothing moves, whichever member leads the group."""

    @pytest.mark.parametrize("balance", BALANCES)
    @given(group=consumer_groups(owned=True))
    def test_two_rounds(self, balance, group):
        members, racks = group
        assign = partial(assign_optimal, balance=balance, cooperative=True)
        check_settled(assign, members, racks)

    @given(consumer_groups(owned=True))
    def test_withheld_partitions_are_assigned_later(self, group):
        members, racks = group
        made = assign_optimal(members, racks)
        waiting = assign_optimal(members, racks, cooperative=True)
        for name, mine in made.partitions.items():
            held = {tp for tp, member in waiting.withheld.items() if member == name}
            assert {*waiting.partitions[name]} | held == set(mine)


class TestOrder:
    @given(consumer_groups(owned=True), st.sampled_from(BALANCES))
    def test_rack_order_and_names_do_not_change_the_result(self, group, balance):
        for check in (check_order_of_joining, check_names_of_racks):
            check(partial(assign_optimal, balance=balance), *group)

    def test_topic_spreads_over_members(self):
        racks = replicas_in(t="ab ba ab ba", u="ab ba ab ba", v="ab ba ab ba")
        made = assign_optimal(group_of("tuv", m1="a", m2="a", m3="b", m4="b"), racks)
        for topic in racks:
            assert [len(made.by_topic(m)[topic]) for m in made.partitions] == [1, 1, 1, 1]

    def test_full_members_are_skipped(self):
        member = Member(topics=("t",), rack="a")
        full = replace(member, owned=tps("t-0 t-1"), generation=1)
        made = assign_optimal({"m1": full, "m2": member}, replicas_in(t="a a a a"))
        assert made.partitions == {"m1": tps("t-0 t-1"), "m2": tps("t-2 t-3")}


class TestDifferingSubscriptions:
    def test_loads_are_as_even_as_subscriptions_allow(self):
        racks = replicas_in(t="a " * 8, u="a " * 2, v="a")
        members = {
            "m1": Member(topics=("t", "u")),
            "m2": Member(topics=("u", "v")),
            "m3": Member(topics=("u", "v", "w")),
        }
        made = assign_optimal(members, racks)
        assert sorted(map(len, made.partitions.values())) == [1, 2, 8]

    @pytest.mark.parametrize(
        ("exclusive", "expected"),
        [(0, [13, 13, 14, 3]), (14, [18, 18, 18, 3]), (300, [300, 20, 20, 3])],
    )
    def test_one_member_can_exceed_its_share(self, exclusive, expected):
        racks = replicas_in(t="a " * exclusive, u="b " * 40, v="c " * 3)
        members = {
            "m1": Member(topics=("t", "u", "v"), rack="a"),
            "m2": Member(topics=("u",), rack="b"),
            "m3": Member(topics=("u", "v"), rack="c"),
            "m4": Member(topics=("v",), rack="b"),
        }
        made = assign_optimal(members, racks)
        check_assignment(made, members, {topic: len(racks[topic]) for topic in racks})
        loads = [len(made.partitions[name]) for name in members]
        assert sorted(loads) == sorted(expected)
        assert (loads[0] == 300, loads[3]) == (exclusive == 300, 3)

    def test_loads_can_be_far_from_even_shares_of_topics(self):
        racks = replicas_in(t="a " * 300, u="b " * 90, v="b")
        members = {
            "m1": Member(topics=("t", "u")),
            "m2": Member(topics=("u",)),
            "m3": Member(topics=("u", "v")),
        }
        made = assign_optimal(members, racks)
        assert sorted(map(len, made.partitions.values())) == [45, 46, 300]

    def test_topic_order_does_not_change_the_result(self):
        racks = replicas_in(t="a b", u="b a")
        members = {
            "m1": Member(topics=("t", "u"), rack="a"),
            "m2": Member(topics=("u", "t", "u", "gone"), rack="a"),
            "m3": Member(topics=("t", "u"), rack="b"),
        }
        same = {name: replace(member, topics=("t", "u")) for name, member in members.items()}
        assert assign_optimal(members, racks) == assign_optimal(same, racks)

    def test_members_without_topics_get_nothing(self):
        members = {
            **group_of(["t"], m1="a", m2="b"),
            **group_of(["gone"], m0="a"),
            **group_of([], m3="a"),
        }
        made = assign_optimal(members, replicas_in(t="a a b b"))
        assert made.partitions == {"m1": tps("t-0 t-1"), "m2": tps("t-2 t-3"), "m0": (), "m3": ()}

    def test_no_partitions(self):
        for balance in BALANCES:
            made = assign_optimal(group_of(["t"], m1="a"), {"t": []}, balance=balance)
            assert made.partitions == {"m1": ()}


class TestPrices:
    RACKS = replicas_in(t="a a a b")

    def test_lightest_partition_crosses(self):
        weights = dict(zip(tps("t-0 t-1 t-2"), [100, 1, 50], strict=True))
        members = group_of(["t"], m1="a", m2="b")
        made = assign_optimal(members, self.RACKS, weights=weights)
        assert made.partitions["m2"] == tps("t-1 t-3")

    def test_two_near_reads_can_cost_more_than_one_far_read(self):
        racks = {"t": [["/e/b"], ["/e/b"], ["/w/d"]]}
        members = group_of(["t"], m1="/e/a", m2="/e/b", m3="/w/c")
        crossed = [
            [level.partitions for level in evaluate(made, members, racks).cross_by_level]
            for made in (
                assign_optimal(members, racks),
                assign_optimal(members, racks, level_costs=(0, 9, 4)),
            )
        ]
        assert crossed == [[0, 2], [2, 2]]

    def test_prices_beyond_64_bits(self):
        members = group_of(["t"], m1="a", m2="b")
        weights = {TopicPartition("t", 0): 2**61, TopicPartition("t", 1): 2**61}
        with pytest.raises(OptimumTooLarge, match=r"a sum below 2\^62") as caught:
            assign_optimal(members, self.RACKS, weights=weights)
        assert caught.value.hint == "use level_costs or coarser weights"
        made = assign_optimal(members, self.RACKS, weights=weights, level_costs=(0, 0))
        assert [len(mine) for mine in made.partitions.values()] == [2, 2]


class TestBadInput:
    MEMBERS = group_of(["t"], m1="/e/a", m2="/e/b")
    RACKS = replicas_in(t="a b")

    def test_options(self):
        for options, wanted in (
            ({"balance": "topic"}, "total, per-topic, columns"),
            ({"target": "near"}, "follower, leader, nearest"),
            ({"level_costs": (0, 1)}, "3 integers from 0 on"),
            ({"level_costs": (0, 1, -1)}, "3 integers from 0 on"),
            ({"level_costs": (0, 1, 1.5)}, "3 integers from 0 on"),
        ):
            with pytest.raises(InvalidConfig) as caught:
                assign_optimal(self.MEMBERS, self.RACKS, **options)
            assert caught.value.wanted == wanted
            assert caught.value.hint

    def test_members_racks_and_weights(self):
        with pytest.raises(InvalidMember):
            assign_optimal({}, self.RACKS)
        with pytest.raises(InvalidReplicaRacks):
            assign_optimal(self.MEMBERS, {"t": [[1]]})
        for weights in ({("t", 0): 1.5}, {("t", 0): "1"}, {("t", 9): 1}):
            with pytest.raises(InvalidWeights):
                assign_optimal(self.MEMBERS, self.RACKS, weights=weights)
