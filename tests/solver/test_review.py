"""Whether a better assignment exists, and what it saves."""

from dataclasses import replace

from hypothesis import given

from assignments import group_of, replicas_in, tps
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.measure.evaluate import evaluate
from rackwise.core.assignors.measure.review import review
from rackwise.core.assignors.members import Assignment, Member
from strategies import consumer_groups

GROUP = group_of("t", m="a", n="b")
RACKS = replicas_in(t="a a b b")
CROSSED = Assignment.of({"m": tps("t-0 t-2"), "n": tps("t-1 t-3")})
LOCAL = Assignment.of({"m": tps("t-0 t-1"), "n": tps("t-2 t-3")})


def having(made, members=None):
    return {
        key: Member(
            topics=member.topics, rack=member.rack, owned=made.partitions[key], generation=1
        )
        for key, member in (members or GROUP).items()
    }


@given(consumer_groups(owned=True))
def test_formula_equals_the_optimum(group):
    members, racks = group
    made = assign_range(members, racks)
    found = review(made, members, racks)
    told = evaluate(made, members, racks).best_local
    assert found.explanation.best_local == found.best.local
    assert told in {None, found.best.local}


class TestTheBestAssignment:
    def test_better_exists(self):
        found = review(CROSSED, having(CROSSED), RACKS)
        assert found.is_better
        assert (found.now.local, found.now.best_local, found.best.local) == (2, 4, 4)
        assert found.best.moves == 2

    def test_nothing_better_exists(self):
        found = review(LOCAL, having(LOCAL), RACKS)
        assert not found.is_better
        assert (found.best.local, found.best.moves) == (4, 0)

    def test_uneven_loads_may_be_more_local_than_the_best(self):
        made = Assignment.of({"m": tps("t-0 t-1 t-2"), "n": tps("t-3")})
        found = review(made, having(made), replicas_in(t="a a a b"))
        assert (found.now.local, found.best.local, found.is_better) == (4, 3, False)
        assert found.explanation.bottleneck == ("a",)

    def test_unassigned_partitions_could_be_local(self):
        made = Assignment.of({"m": tps("t-0"), "n": tps("t-2")})
        assert review(made, having(made), RACKS).is_better

    def test_bytes_count_where_they_are_known(self):
        racks = replicas_in(t="a a")
        made = Assignment.of({"m": tps("t-0"), "n": tps("t-1")})
        weights = dict(zip(tps("t-0 t-1"), (1, 9), strict=True))
        found = review(made, having(made), racks, weights=weights)
        assert (found.now.local, found.best.local, found.is_better) == (1, 1, True)
        assert not review(made, having(made), racks).is_better

    def test_coarser_levels_come_first(self):
        members = group_of("t", m="/e/a", n="/w/c")
        racks = {"t": [["/e/a"], ["/w/d"], ["/w/c", "/e/b"], ["/e/b"]]}
        made = Assignment.of({"m": tps("t-0 t-1"), "n": tps("t-2 t-3")})
        found = review(made, having(made, members), racks)
        assert found.is_better
        assert found.best_local == found.best.local
        assert [level.partitions for level in found.best.cross_by_level] == [0, 2]

    def test_local_reads_do_not_outweigh_coarser_crossings(self):
        members = group_of("t", m="/e/a", n="/w/c", o="/e/z")
        racks = {"t": [["/e/b"], ["/e/b"], ["/e/b"], ["/e/a"]]}
        made = Assignment.of({"m": tps("t-0 t-1 t-2"), "n": (), "o": tps("t-3")})
        found = review(made, having(made, members), racks)
        assert (found.now.local, found.best.local, found.is_better) == (0, 1, False)

    def test_balance_per_topic(self):
        members = group_of("tu", m="a", n="b")
        racks = replicas_in(t="a a", u="b b")
        made = Assignment.of({"m": tps("t-0 t-1"), "n": tps("u-0 u-1")})
        found = review(made, having(made, members), racks, balance="per-topic")
        assert (found.best.local, found.is_better) == (2, False)

    def test_unknown_without_an_explanation(self):
        found = review(CROSSED, having(CROSSED), RACKS)
        assert found.best_local == 4
        assert replace(found, best=None, explanation=None).best_local is None
