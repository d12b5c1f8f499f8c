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
        made = assignment_of(case["assignment"])
        report = evaluate(made, members_of(case["members"]), case["topics"])
        expected = case["expected"]
        wanted = {name: expected[name] for name in NAMED if name in expected}
        assert {name: getattr(report, name) for name in wanted} == wanted
        told = {
            member: {name: getattr(reads, name) for name in COUNTS}
            for member, reads in report.by_member.items()
        }
        assert told == expected.get("members", told)
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
        made = assignment_of(case["one_optimal_assignment"])
        report = evaluate(made, members, racks, target=case["target"])
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
    def test_who_is_read(self, target, local, crossing):
        report = evaluate(self.MADE, self.MEMBERS, PATHS, target=target)
        assert (report.local, report.cross) == (local, 4 - local)
        assert crossings(report) == crossing

    def test_a_follower_that_is_near_is_read_by_the_nearest_only(self):
        racks = {"t": [["/W/c", "/E/b"]]}
        made = Assignment.of({"m": tps("t-0")})
        found = [
            crossings(evaluate(made, self.MEMBERS, racks, target=target))
            for target in ("leader", "follower", "nearest")
        ]
        assert found == [[1, 1], [1, 1], [0, 1]]

    @pytest.mark.parametrize("row", [[], [None], [""]])
    @pytest.mark.parametrize("target", ["leader", "follower", "nearest"])
    def test_brokers_without_rack_are_across_everything(self, target, row):
        made = Assignment.of({"m": tps("t-0")})
        report = evaluate(made, self.MEMBERS, {"t": [row]}, target=target)
        assert crossings(report) == [1, 1]

    def test_members_without_rack_cross_every_level_and_are_unknown(self):
        members = group_of("t", m="/E/a", n=None)
        report = evaluate(Assignment.of({"m": [], "n": tps("t-0")}), members, PATHS)
        assert (report.local, report.cross, report.unknown) == (0, 0, 1)
        assert crossings(report) == [1, 1]

    def test_a_shorter_path_reaches_as_far_as_it_goes(self):
        members = group_of("t", m="/E", n="/E/a/r1")
        racks = {"t": [["/E/a/r1"], ["/E"], ["/E/a"]]}
        made = Assignment.of({"m": tps("t-0 t-1"), "n": tps("t-2")})
        report = evaluate(made, members, racks)
        assert [level.level for level in report.cross_by_level] == ["level1", "level2", "level3"]
        assert crossings(report) == [0, 1, 2]
        assert report.by_member == {"m": Reads(local=1, cross=1), "n": Reads(cross=1)}

    def test_the_root_and_texts_that_are_no_paths_are_one_level(self):
        members = group_of("t", m="/", n="/a//b")
        racks = {"t": [["/"], ["/a//b"], ["/a"]]}
        made = Assignment.of({"m": tps("t-0"), "n": tps("t-1 t-2")})
        assert crossings(evaluate(made, members, racks)) == [1]

    def test_an_unknown_target_is_refused(self):
        with pytest.raises(
            InvalidConfig, match='one of follower, leader, nearest, got "far"'
        ) as it:
            evaluate(self.MADE, self.MEMBERS, PATHS, target="far")
        assert it.value.hint == "use follower for brokers with RackAwareReplicaSelector"


class TestWeights:
    RACKS = replicas_in(t="a b", u="a")
    MEMBERS = group_of("t", m="b")
    MADE = Assignment.of({"m": tps("t-0 t-1")})

    def test_bytes_that_cross(self):
        report = evaluate(self.MADE, self.MEMBERS, self.RACKS, weights={("t", 0): 70, ("u", 0): 1})
        assert report.cross_by_level == (LevelCrossing(level="zone", partitions=1, bytes_per_s=70),)
        assert report.skipped.unweighted == tps("t-1")

    def test_without_weights_bytes_are_not_known(self):
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
    def test_weights_are_of_partitions_that_are_there(self, tp):
        with pytest.raises(
            InvalidWeights, match="expected a partition with metadata, got an unknown one"
        ) as it:
            evaluate(self.MADE, self.MEMBERS, self.RACKS, weights={tp: 1})
        assert it.value.hint == "remove the weights of other topics"


class TestMoves:
    RACKS = replicas_in(t="a a")

    @staticmethod
    def moves(*claims, made):
        members = {
            f"m{number}": Member(topics=(topic,), owned=tps("t-0 t-0"), generation=generation)
            for number, (topic, generation) in enumerate(claims)
        }
        given = {member: tps("t-0") if member == made else () for member in members}
        return evaluate(Assignment.of(given), members, TestMoves.RACKS).moves

    def test_the_newest_claim_owns(self):
        assert self.moves(("t", 3), ("t", 4), ("t", -1), made="m1") == 0
        assert self.moves(("t", 3), ("t", 4), ("t", -1), made="m0") == 1

    def test_two_newest_claims_own_nothing(self):
        assert self.moves(("t", 4), ("t", 4), ("t", 3), made="m2") == 0

    def test_who_lists_the_topic_no_more_owns_nothing(self):
        assert self.moves(("u", 4), ("t", 3), made="m1") == 0

    def test_they_are_counted_from_the_group_before(self):
        before = {
            key: Member(topics=("t",), owned=tps(owned), generation=1)
            for key, owned in (("m", "t-0"), ("n", "t-1"))
        }
        after = {"n": before["n"]}
        made = Assignment.of({"n": tps("t-0 t-1")})
        assert evaluate(made, after, self.RACKS).moves == 0
        assert evaluate(made, after, self.RACKS, before=before).moves == 1

    def test_what_is_withheld_counts_for_the_member_that_gets_it(self):
        members = {
            "m": Member(topics=("t",), rack="b", owned=tps("t-0 t-1"), generation=1),
            "n": Member(topics=("t",), rack="a"),
        }
        made = Assignment.of({"m": tps("t-0"), "n": ()}, withheld={tps("t-1")[0]: "n"})
        report = evaluate(made, members, self.RACKS)
        assert (report.partitions, report.moves, report.withheld) == (2, 1, 1)
        assert (report.local, report.cross, report.smallest, report.largest) == (1, 1, 1, 1)


class TestReport:
    MEMBERS = group_of("tx", m="b", n="a", o=None, p="b")
    RACKS = replicas_in(t="a b a b")
    MADE = Assignment.of({"m": tps("t-0 t-1 t-9"), "n": tps("t-2"), "o": (), "p": ()})

    def test_racks_of_members_those_without_last(self):
        report = evaluate(self.MADE, self.MEMBERS, self.RACKS)
        assert report.by_rack == (
            RackReads(rack="a", members=1, reads=Reads(local=1)),
            RackReads(rack="b", members=2, reads=Reads(local=1, cross=1)),
            RackReads(rack=None, members=1, reads=Reads()),
        )
        assert report.local_share == Fraction(1, 2)
        assert (report.smallest, report.largest) == (0, 2)

    def test_what_is_left_out_is_named(self):
        members = {**self.MEMBERS, "m": Member(topics=("t",), rack="b", owned=tps("u-0 t-7 t-0"))}
        report = evaluate(self.MADE, members, self.RACKS)
        assert report.skipped == Skipped(
            topics=("x",),
            owned=tps("t-7 u-0"),
            assigned=tps("t-9"),
            unassigned=tps("t-3"),
        )

    def test_what_nobody_has_is_of_all_and_not_local(self):
        made = Assignment.of({"m": tps("t-1"), "n": tps("t-0")})
        report = evaluate(made, self.MEMBERS, self.RACKS)
        assert (report.partitions, report.local, report.unassigned) == (4, 2, 2)
        assert report.local_share == Fraction(1, 2)

    def test_topics_that_nobody_lists_are_told_from_partitions_that_are_not_there(self):
        made = Assignment.of({"m": tps("t-0 t-9 x-0 u-0 t-1 t-2 t-3")})
        report = evaluate(made, self.MEMBERS, {**self.RACKS, "u": [["a"]]})
        assert (report.partitions, report.unassigned) == (4, 0)
        assert report.skipped == Skipped(
            topics=("x",), assigned=tps("t-9 x-0"), unlisted=tps("u-0")
        )

    def test_nothing_to_read_is_all_local(self):
        report = evaluate(Assignment.of({"m": ()}), group_of("t", m="a"), {})
        assert (report.partitions, report.local_share) == (0, Fraction(1))

    def test_the_gap_to_a_better_one(self):
        best = Assignment.of({"m": tps("t-1 t-3"), "n": tps("t-0 t-2")})
        report = evaluate(self.MADE, self.MEMBERS, self.RACKS, best=best)
        assert (report.best_local, report.gap) == (4, 2)
        assert evaluate(best, self.MEMBERS, self.RACKS, best=self.MADE).gap == -2

    def test_what_a_formula_tells_where_none_is_given(self):
        report = evaluate(self.MADE, self.MEMBERS, self.RACKS)
        assert (report.best_local, report.gap) == (3, 1)
        leaders = evaluate(self.MADE, self.MEMBERS, replicas_in(t="ab cb ab cb"), target="leader")
        assert leaders.best_local == 1
        weighted = evaluate(self.MADE, self.MEMBERS, self.RACKS, weights={})
        assert (weighted.best_local, weighted.gap) == (None, None)

    def test_no_formula_tells_for_differing_subscriptions(self):
        members = {**self.MEMBERS, "p": Member(topics=("t",), rack="b")}
        assert evaluate(self.MADE, members, self.RACKS).best_local == 3
        racks = {**self.RACKS, "x": [["a"]]}
        assert evaluate(self.MADE, members, racks).best_local is None

    def test_what_is_beyond_the_metadata_is_not_the_best(self):
        best = Assignment.of({"m": tps("t-1 t-9"), "n": tps("t-0")}, dict.fromkeys(tps("t-3"), "m"))
        assert evaluate(self.MADE, self.MEMBERS, self.RACKS, best=best).best_local == 3

    @pytest.mark.parametrize(
        "made",
        [
            Assignment.of({"z\n": ()}),
            Assignment.of({}, withheld=dict.fromkeys(tps("t-0"), "z\n")),
        ],
    )
    def test_a_stranger_cannot_have_partitions(self, made):
        with pytest.raises(
            InvalidMember, match=r"invalid assignment: expected members of the group, got z\\x0a"
        ) as it:
            evaluate(made, self.MEMBERS, self.RACKS)
        assert it.value.hint == "give the members that the assignment was computed for"


class TestLaws:
    @pytest.mark.parametrize("assign", [assign_range, assign_roundrobin])
    @given(group=consumer_groups(owned=True))
    def test_the_kinds_sum_up_and_cross_is_what_a_slow_count_finds(self, assign, group):
        members, racks = group
        made = assign(members, racks)
        report = evaluate(made, members, racks)
        assert report.partitions == sum(map(len, made.partitions.values()))
        assert report.local + report.cross + report.unknown == report.partitions
        assert report.cross == mismatches(made, members, racks)
        assert crossings(report) == [report.cross + report.unknown]
        assert sum(found.reads.partitions for found in report.by_rack) == report.partitions
        assert not report.skipped.assigned
        assert not report.skipped.unassigned

    @given(group=consumer_groups(owned=True))
    def test_with_what_nobody_has_they_sum_up_to_all_partitions(self, group):
        members, racks = group
        made = assign_range(members, racks)
        whole = evaluate(made, members, racks)
        kept = Assignment.of({key: given[::2] for key, given in made.partitions.items()})
        report = evaluate(kept, members, racks)
        told = (report.local, report.cross, report.unknown, report.unassigned)
        assert sum(told) == report.partitions == whole.partitions
        assert report.unassigned == sum(len(given) // 2 for given in made.partitions.values())
