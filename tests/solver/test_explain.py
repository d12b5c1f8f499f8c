"""Explanations of groups whose members subscribe to different topics."""

from assignments import group_of, replicas_in
from rackwise.core.assignors.measure.explain import explain
from rackwise.core.assignors.members import Member


class TestDifferingSubscriptions:
    MEMBERS = group_of("t", m="a") | {"n": Member(topics=("t", "u"), rack="b")}

    def test_best_equals_the_optimum(self):
        found = explain(self.MEMBERS, replicas_in(t="a b c", u="b"))
        assert (found.partitions, found.best_local, found.bottleneck) == (4, 3, ())
        assert (found.reachable, found.unreachable, found.shortfall) == (3, 1, 0)
        assert (found.only_there, found.capacity, found.members_to_add) == (None, None, None)
        assert (
            found.reason
            == "members subscribe to different topics, so no set of racks explains the limit"
        )

    def test_only_subscribers_can_reach_a_topic(self):
        found = explain(self.MEMBERS, replicas_in(t="b b", u="a a"))
        assert (found.reachable, found.unreachable) == (2, 2)
