"""Evaluate measures any assignment: local, cross, unknown, crossings of levels, moves."""

from fractions import Fraction

import pytest
from hypothesis import given

from assignments import (
    assignment_of,
    consumer_vectors,
    group_of,
    members_of,
    mismatches,
    replicas_in,
    tps,
)
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.kafka.roundrobin import assign_roundrobin
from rackwise.core.assignors.measure.evaluate import (
    LevelCrossing,
    RackReads,
    Reads,
    Skipped,
    evaluate,
)
from rackwise.core.assignors.members import Assignment, Member
from rackwise.core.errors import InvalidConfig, InvalidMember, InvalidWeights
from strategies import consumer_groups

PATHS = {
    "t": [["/W/c", "/E/a"], ["/W/c", "/E/a"], ["/E/b", "/W/c"], ["/E/b", "/E/a"]],
}
NAMED = ("partitions", "local", "cross", "unknown", "smallest", "largest", "moves")
COUNTS = ("partitions", "local", "cross", "unknown")
LEVELLED = [
    case
    for case in consumer_vectors("optimal")["cases"]
    if len(case["optimum"].get("cross_by_level", [])) > 1
]


def crossings(report):
    return [level.partitions for level in report.cross_by_level]


def as_path(rack):
    return rack and f"/{rack}"


class TestVectors:
    @pytest.mark.parametrize("case", consumer_vectors("evaluate"))
    def test_expected_numbers(self, case):
        result = assignment_of(case["assignment"])
        report = evaluate(result, members_of(case["members"]), case["topics"])
        expected = case["expected"]
        wanted = {name: expected[name] for name in NAMED if name in expected}
        assert {name: getattr(report, name) for name in wanted} == wanted
        counts = {
            member: {name: getattr(reads, name) for name in COUNTS}
            for member, reads in report.by_member.items()
        }
        assert counts == expected.get("members", counts)
        assert report.gap == expected["best_local"] - expected["local"]

    @pytest.mark.parametrize("case", LEVELLED, ids=lambda case: case["id"])
    def test_crossings_of_levels(self, case):
        members = members_of(
            [{**member, "rack": as_path(member["rack"])} for member in case["members"]]
        )
        racks = {
            topic: [[as_path(rack) for rack in row] for row in partitions]
            for topic, partitions in case["topics"].items()
        }
        result = assignment_of(case["one_optimal_assignment"])
        report = evaluate(result, members, racks, target=case["target"])
        assert crossings(report) == case["optimum"]["cross_by_level"]


class TestTargets:
    """KIP-392: clients read from a replica in their rack where the leader's selector finds one,
    else from the leader.
    """

    MEMBERS = group_of("t", m="/E/a")
    MADE = Assignment.of({"m": tps("t-0 t-1 t-2 t-3")})

    @pytest.mark.parametrize(
        ("target", "local", "crossing"),
        [("leader", 0, [2, 4]), ("follower", 3, [0, 1]), ("nearest", 3, [0, 1])],
    )
    def test_the_replica_that_is_read(self, target, local, crossing):
        report = evaluate(self.MADE, self.MEMBERS, PATHS, target=target)
        assert (report.local, report.cross) == (local, 4 - local)
        assert crossings(report) == crossing

    def test_only_target_nearest_reads_a_follower_in_a_near_rack(self):
        racks = {"t": [["/W/c", "/E/b"]]}
        result = Assignment.of({"m": tps("t-0")})
        found = [
            crossings(evaluate(result, self.MEMBERS, racks, target=target))
            for target in ("leader", "follower", "nearest")
        ]
        assert found == [[1, 1], [1, 1], [0, 1]]

    @pytest.mark.parametrize("row", [[], [None], [""]])
    @pytest.mark.parametrize("target", ["leader", "follower", "nearest"])
    def test_reads_from_brokers_without_rack_cross_every_level(self, target, row):
        result = Assignment.of({"m": tps("t-0")})
        report = evaluate(result, self.MEMBERS, {"t": [row]}, target=target)
        assert crossings(report) == [1, 1]

    def test_reads_of_members_without_rack_are_unknown_and_cross_every_level(self):
        members = group_of("t", m="/E/a", n=None)
        report = evaluate(Assignment.of({"m": [], "n": tps("t-0")}), members, PATHS)
        assert (report.local, report.cross, report.unknown) == (0, 0, 1)
        assert crossings(report) == [1, 1]

    def test_a_shorter_path_matches_its_own_levels(self):
        members = group_of("t", m="/E", n="/E/a/r1")
        racks = {"t": [["/E/a/r1"], ["/E"], ["/E/a"]]}
        result = Assignment.of({"m": tps("t-0 t-1"), "n": tps("t-2")})
        report = evaluate(result, members, racks)
        assert [level.level for level in report.cross_by_level] == ["level1", "level2", "level3"]
        assert crossings(report) == [0, 1, 2]
        assert report.by_member == {"m": Reads(local=1, cross=1), "n": Reads(cross=1)}

    def test_the_root_and_texts_that_are_no_paths_are_one_level(self):
        members = group_of("t", m="/", n="/a//b")
        racks = {"t": [["/"], ["/a//b"], ["/a"]]}
        result = Assignment.of({"m": tps("t-0"), "n": tps("t-1 t-2")})
        assert crossings(evaluate(result, members, racks)) == [1]

    def test_an_unknown_target_is_rejected(self):
        with pytest.raises(
            InvalidConfig, match='one of follower, leader, nearest, got "far"'
        ) as it:
            evaluate(self.MADE, self.MEMBERS, PATHS, target="far")
        assert it.value.hint == "use follower for brokers with RackAwareReplicaSelector"


class TestWeights:
    RACKS = replicas_in(t="a b", u="a")
    MEMBERS = group_of("t", m="b")
    MADE = Assignment.of({"m": tps("t-0 t-1")})

    def test_crossing_bytes(self):
        report = evaluate(self.MADE, self.MEMBERS, self.RACKS, weights={("t", 0): 70, ("u", 0): 1})
        assert report.cross_by_level == (LevelCrossing(level="zone", partitions=1, bytes_per_s=70),)
        assert report.skipped.unweighted == tps("t-1")

    def test_bytes_are_unknown_without_weights(self):
        report = evaluate(self.MADE, self.MEMBERS, self.RACKS)
        assert report.cross_by_level == (
            LevelCrossing(level="zone", partitions=1, bytes_per_s=None),
        )

    @pytest.mark.parametrize("weight", [-1, 1.5, True, None])
    def test_weights_are_integers_from_0_on(self, weight):
        with pytest.raises(
            InvalidWeights, match="invalid weight of t-0: expected integer bytes_per_s >= 0"
        ) as it:
            evaluate(self.MADE, self.MEMBERS, self.RACKS, weights={("t", 0): weight})
        assert (it.value.hint, it.value.where) == ("round the weights to integers", "t-0")

    @pytest.mark.parametrize("tp", [("t", 2), ("t", -1), ("x", 0)])
    def test_weights_of_unknown_partitions_are_rejected(self, tp):
        with pytest.raises(
            InvalidWeights, match="expected a partition with metadata, got an unknown one"
        ) as it:
            evaluate(self.MADE, self.MEMBERS, self.RACKS, weights={tp: 1})
        assert it.value.hint == "remove the weights of other topics"


class TestMoves:
    RACKS = replicas_in(t="a a")

    @staticmethod
    def moves(*claims, result):
        members = {
            f"m{number}": Member(topics=(topic,), owned=tps("t-0 t-0"), generation=generation)
            for number, (topic, generation) in enumerate(claims)
        }
        given = {member: tps("t-0") if member == result else () for member in members}
        return evaluate(Assignment.of(given), members, TestMoves.RACKS).moves

    def test_the_newest_report_owns(self):
        assert self.moves(("t", 3), ("t", 4), ("t", -1), result="m1") == 0
        assert self.moves(("t", 3), ("t", 4), ("t", -1), result="m0") == 1

    def test_two_newest_reports_own_nothing(self):
        assert self.moves(("t", 4), ("t", 4), ("t", 3), result="m2") == 0

    def test_a_member_that_no_longer_lists_the_topic_owns_nothing(self):
        assert self.moves(("u", 4), ("t", 3), result="m1") == 0

    def test_moves_are_counted_from_the_group_before(self):
        before = {
            key: Member(topics=("t",), owned=tps(owned), generation=1)
            for key, owned in (("m", "t-0"), ("n", "t-1"))
        }
        after = {"n": before["n"]}
        result = Assignment.of({"n": tps("t-0 t-1")})
        assert evaluate(result, after, self.RACKS).moves == 0
        assert evaluate(result, after, self.RACKS, before=before).moves == 1

    def test_a_withheld_partition_counts_for_its_next_member(self):
        members = {
            "m": Member(topics=("t",), rack="b", owned=tps("t-0 t-1"), generation=1),
            "n": Member(topics=("t",), rack="a"),
        }
        result = Assignment.of({"m": tps("t-0"), "n": ()}, withheld={tps("t-1")[0]: "n"})
        report = evaluate(result, members, self.RACKS)
        assert (report.partitions, report.moves, report.withheld) == (2, 1, 1)
        assert (report.local, report.cross, report.smallest, report.largest) == (1, 1, 1, 1)


class TestReport:
    MEMBERS = group_of("tx", m="b", n="a", o=None, p="b")
    RACKS = replicas_in(t="a b a b")
    MADE = Assignment.of({"m": tps("t-0 t-1 t-9"), "n": tps("t-2"), "o": (), "p": ()})

    def test_members_without_rack_come_last(self):
        report = evaluate(self.MADE, self.MEMBERS, self.RACKS)
        assert report.by_rack == (
            RackReads(rack="a", members=1, reads=Reads(local=1)),
            RackReads(rack="b", members=2, reads=Reads(local=1, cross=1)),
            RackReads(rack=None, members=1, reads=Reads()),
        )
        assert report.local_share == Fraction(1, 2)
        assert (report.smallest, report.largest) == (0, 2)

    def test_skipped_partitions_are_named(self):
        members = {**self.MEMBERS, "m": Member(topics=("t",), rack="b", owned=tps("u-0 t-7 t-0"))}
        report = evaluate(self.MADE, members, self.RACKS)
        assert report.skipped == Skipped(
            topics=("x",),
            owned=tps("t-7 u-0"),
            assigned=tps("t-9"),
            unassigned=tps("t-3"),
        )

    def test_unassigned_partitions_count_and_are_not_local(self):
        result = Assignment.of({"m": tps("t-1"), "n": tps("t-0")})
        report = evaluate(result, self.MEMBERS, self.RACKS)
        assert (report.partitions, report.local, report.unassigned) == (4, 2, 2)
        assert report.local_share == Fraction(1, 2)

    def test_unlisted_topics_differ_from_unknown_partitions(self):
        result = Assignment.of({"m": tps("t-0 t-9 x-0 u-0 t-1 t-2 t-3")})
        report = evaluate(result, self.MEMBERS, {**self.RACKS, "u": [["a"]]})
        assert (report.partitions, report.unassigned) == (4, 0)
        assert report.skipped == Skipped(
            topics=("x",), assigned=tps("t-9 x-0"), unlisted=tps("u-0")
        )

    def test_no_partitions_are_all_local(self):
        report = evaluate(Assignment.of({"m": ()}), group_of("t", m="a"), {})
        assert (report.partitions, report.local_share) == (0, Fraction(1))

    def test_the_gap_to_the_best_assignment(self):
        best = Assignment.of({"m": tps("t-1 t-3"), "n": tps("t-0 t-2")})
        report = evaluate(self.MADE, self.MEMBERS, self.RACKS, best=best)
        assert (report.best_local, report.gap) == (4, 2)
        assert evaluate(best, self.MEMBERS, self.RACKS, best=self.MADE).gap == -2

    def test_the_formula_gives_the_best_where_none_is_given(self):
        report = evaluate(self.MADE, self.MEMBERS, self.RACKS)
        assert (report.best_local, report.gap) == (3, 1)
        leaders = evaluate(self.MADE, self.MEMBERS, replicas_in(t="ab cb ab cb"), target="leader")
        assert leaders.best_local == 1
        weighted = evaluate(self.MADE, self.MEMBERS, self.RACKS, weights={})
        assert (weighted.best_local, weighted.gap) == (None, None)

    def test_no_formula_exists_for_differing_subscriptions(self):
        members = {**self.MEMBERS, "p": Member(topics=("t",), rack="b")}
        assert evaluate(self.MADE, members, self.RACKS).best_local == 3
        racks = {**self.RACKS, "x": [["a"]]}
        assert evaluate(self.MADE, members, racks).best_local is None

    def test_unknown_partitions_do_not_count_for_the_best(self):
        best = Assignment.of({"m": tps("t-1 t-9"), "n": tps("t-0")}, dict.fromkeys(tps("t-3"), "m"))
        assert evaluate(self.MADE, self.MEMBERS, self.RACKS, best=best).best_local == 3

    @pytest.mark.parametrize(
        "result",
        [
            Assignment.of({"z\n": ()}),
            Assignment.of({}, withheld=dict.fromkeys(tps("t-0"), "z\n")),
        ],
    )
    def test_an_unknown_member_cannot_have_partitions(self, result):
        with pytest.raises(
            InvalidMember, match=r"invalid assignment: expected members of the group, got z\\x0a"
        ) as it:
            evaluate(result, self.MEMBERS, self.RACKS)
        assert it.value.hint == "give the members that the assignment was computed for"


class TestLaws:
    @pytest.mark.parametrize("assign", [assign_range, assign_roundrobin])
    @given(group=consumer_groups(owned=True))
    def test_counts_add_up_and_cross_equals_a_naive_count(self, assign, group):
        members, racks = group
        result = assign(members, racks)
        report = evaluate(result, members, racks)
        assert report.partitions == sum(map(len, result.partitions.values()))
        assert report.local + report.cross + report.unknown == report.partitions
        assert report.cross == mismatches(result, members, racks)
        assert crossings(report) == [report.cross + report.unknown]
        assert sum(found.reads.partitions for found in report.by_rack) == report.partitions
        assert not report.skipped.assigned
        assert not report.skipped.unassigned

    @given(group=consumer_groups(owned=True))
    def test_counts_and_unassigned_add_up_to_all_partitions(self, group):
        members, racks = group
        result = assign_range(members, racks)
        whole = evaluate(result, members, racks)
        kept = Assignment.of({key: given[::2] for key, given in result.partitions.items()})
        report = evaluate(kept, members, racks)
        counts = (report.local, report.cross, report.unknown, report.unassigned)
        assert sum(counts) == report.partitions == whole.partitions
        assert report.unassigned == sum(len(given) // 2 for given in result.partitions.values())
