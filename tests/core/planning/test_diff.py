"""Differences of clusters, plans and placements: partitions, brokers, findings, totals."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.audit import audit
from rackwise.core.planning import diff as difference
from rackwise.core.planning.diff import (
    BrokerDiff,
    Diff,
    PartitionDiff,
    ReplicaLists,
    TotalDiff,
    compare_findings,
    compare_totals,
    diff,
)
from rackwise.core.planning.model import Move, Steady, Totals
from rackwise.core.planning.what_if import LoseBroker, MoveBroker, what_if
from rackwise.core.racks import Rack
from small_clusters import small_cluster
from small_plans import small_plan

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a"}


def plan_of(lists, **totals):
    """A plan from name -> (list before, list after)."""
    moves = tuple(
        Move(
            topic=_key(name)[0],
            partition=_key(name)[1],
            topic_id=None,
            before=before,
            after=after,
            bytes=1,
        )
        for name, (before, after) in lists.items()
    )
    return small_plan(moves=moves, totals=Totals(**totals))


def kinds_of(found):
    return {f"{p.topic}-{p.partition}": p.what for p in found.partitions}


def test_example_of_the_module_docstring():
    a = {"s-0": [1, 2, 3], "s-1": [1, 2, 3], "s-2": [1, 2, 3], "s-3": [1, 2, 3], "s-4": [1]}
    b = {"s-0": [1, 2, 4], "s-1": [2, 1, 3], "s-2": [1, 2, 3], "s-4": [1], "s-5": [1, 2]}
    left = small_cluster(RACKS, a)
    right = small_cluster(RACKS, b, leaders={"s-1": 1, "s-2": 2})
    found = diff(left, right)
    assert kinds_of(found) == {
        "s-0": "set",
        "s-1": "order",
        "s-2": "leader",
        "s-3": "missing",
        "s-5": "missing",
    }
    assert found.partitions[0] == PartitionDiff(
        topic="s",
        partition=0,
        what="set",
        a=ReplicaLists(after=(1, 2, 3), leader=1),
        b=ReplicaLists(after=(1, 2, 4), leader=1),
    )
    assert (found.partitions[3].b, found.partitions[4].a) == (None, None)
    assert not found.is_equal


def test_a_cluster_is_equal_to_itself():
    cluster = small_cluster(RACKS, {"s-0": [1, 2], "t-1": [2]})
    found = diff(cluster, cluster)
    assert found.is_equal
    assert (found.partitions, found.brokers, found.totals) == ((), (), ())
    assert (len(found.findings.fixed), len(found.findings.introduced)) == (0, 0)
    empty = small_cluster({}, {})
    assert diff(empty, empty).is_equal
    assert kinds_of(diff(empty, cluster)) == {"s-0": "missing", "t-1": "missing"}


def test_lost_leader_is_a_difference():
    a = small_cluster(RACKS, {"s-0": [1]})
    b = small_cluster(RACKS, {"s-0": [1]}, leaders={"s-0": None})
    assert kinds_of(diff(a, b)) == {"s-0": "leader"}


def test_added_replicas_do_not_count():
    moving = small_cluster(RACKS, {"s-0": [1, 2, 3]}, adding={"s-0": [3]}, isr={"s-0": [1, 2]})
    assert kinds_of(diff(moving, small_cluster(RACKS, {"s-0": [1, 2]}))) == {}


def test_brokers_that_die_move_or_are_missing():
    a = small_cluster({1: "/a", 2: "/b", 3: "/c"}, {})
    b = what_if(
        small_cluster({1: "/a", 2: "/b", 4: None}, {}), LoseBroker(1), MoveBroker(2, Rack("/c"))
    )
    assert diff(a, b).brokers == (
        BrokerDiff(id=1, what="live", a=(Rack("/a"), True), b=(Rack("/a"), False)),
        BrokerDiff(id=2, what="rack", a=(Rack("/b"), True), b=(Rack("/c"), True)),
        BrokerDiff(id=3, what="missing", a=(Rack("/c"), True), b=None),
        BrokerDiff(id=4, what="missing", a=None, b=(None, True)),
    )


def test_findings_are_fixed_or_introduced():
    a = small_cluster(RACKS, {"s-0": [1, 4], "s-1": [1, 2]})
    b = small_cluster(RACKS, {"s-0": [1, 2], "s-1": [1, 4]})
    found = diff(a, b)
    assert [(f.rule, f.place) for f in found.findings.fixed if f.rule == "spread-even"] == [
        ("spread-even", "s-0")
    ]
    assert [(f.rule, f.place) for f in found.findings.introduced if f.rule == "spread-even"] == [
        ("spread-even", "s-1")
    ]


def test_numbers_do_not_distinguish_findings():
    a = small_cluster(RACKS, {"s-0": [1, 2]}, isr={"s-0": [1]}, min_isr=2)
    b = small_cluster(RACKS, {"s-0": [1, 2, 3]}, isr={"s-0": [1]}, min_isr=3)
    one, other = audit(a), audit(b)
    assert one.by_rule["under-min-isr"][0] != other.by_rule["under-min-isr"][0]
    found = compare_findings(one, other)
    assert "under-min-isr" not in {f.rule for f in (*found.fixed, *found.introduced)}


def test_plans_differ_in_lists_and_totals():
    a = plan_of({"s-0": ((1, 2), (1, 3)), "s-1": ((1, 2), (1, 3))}, moves=2)
    b = plan_of({"s-0": ((1, 2), (3, 1)), "s-1": ((4, 2), (1, 3)), "é-0": ((1,), (2,))}, moves=3)
    found = diff(a, b)
    assert kinds_of(found) == {"s-0": "order", "s-1": "before", "é-0": "missing"}
    assert TotalDiff(name="moves", a=2, b=3) in found.totals
    assert found.partitions[1].a == ReplicaLists(after=(1, 3), before=(1, 2))
    assert diff(a, a).is_equal
    assert not diff(a, replace(a, totals=Totals(moves=5))).is_equal


def test_steady_state_is_compared_if_known():
    a = Totals(steady_before=Steady(cross_bytes_per_s=7, usd_nano_per_day=1))
    names = {t.name: (t.a, t.b) for t in compare_totals(a, Totals())}
    assert names["steady_before.cross_bytes_per_s"] == (7, None)
    assert names["steady_before.usd_nano_per_day"] == (1, None)
    assert "steady_after" not in names
    assert names["usd_nano"] == (None, None)


def test_a_plan_is_compared_with_a_reassignment_and_with_a_cluster():
    plan = plan_of({"s-0": ((1, 2), (1, 3)), "s-1": ((1, 2), (2, 3))})
    assert kinds_of(diff(plan, {("s", 0): (1, 3), ("s", 1): (3, 2)})) == {"s-1": "order"}
    cluster = small_cluster(RACKS, {"s-0": [1, 3], "s-1": [2, 3]}, leaders={"s-0": 3})
    assert diff(plan, cluster).is_equal
    assert diff({("s", 0): (1, 3)}, cluster).is_equal, "s-1 is left alone"
    assert kinds_of(diff(cluster, {("s", 0): (3, 1), ("s", 7): (1,)})) == {
        "s-0": "order",
        "s-7": "missing",
    }


@st.composite
def placements(draw):
    names = draw(st.lists(st.sampled_from(["s-0", "s-1", "t-0", "é-2"]), unique=True))
    return {name: draw(st.permutations([1, 2, 3]))[: draw(st.integers(1, 3))] for name in names}


@given(placements(), placements())
def test_column_comparison_equals_a_comparison_by_partition(a, b):
    left, right = small_cluster(RACKS, a), small_cluster(RACKS, b)
    found = tuple(difference._partitions(left, right))
    sides = [{_key(name): tuple(row) for name, row in lists.items()} for lists in (a, b)]
    slow = diff(*sides)
    assert [(p.topic, p.partition, p.what) for p in found] == [
        (p.topic, p.partition, p.what) for p in slow.partitions
    ]
    assert {(p.topic, p.partition) for p in found} == {
        _key(name) for name in {*a, *b} if a.get(name) != b.get(name)
    }
    turned = difference._partitions(right, left)
    assert [(p.a, p.b) for p in turned] == [(p.b, p.a) for p in found]


def _key(name):
    topic, _, number = name.partition("-")
    return topic, int(number)


@pytest.mark.parametrize("what", ["fixed", "introduced"])
def test_only_findings_differ(what):
    found = audit(small_cluster(RACKS, {"s-0": [1, 4]}))
    none = compare_findings(found, found)
    assert not Diff(findings=replace(none, **{what: found})).is_equal
    assert Diff(findings=none).is_equal


def test_no_findings_are_known_without_two_clusters():
    """They were empty, as if both had been audited."""
    found = diff(small_cluster(RACKS, {"s-0": [1, 4]}), {("s", 0): (1, 2)})
    assert found.findings is None


class TestRulesThatWereNotChecked:
    """A finding is fixed only where its rule was checked after it, new only where before it."""

    KNOWN = small_cluster(RACKS, {"s-0": [1, 4], "s-1": [1, 2]})
    UNKNOWN = small_cluster(dict.fromkeys(RACKS), {"s-0": [1, 4], "s-1": [1, 2]})
    PARTLY = small_cluster({**RACKS, 4: None}, {"s-0": [1, 4], "s-1": [1, 2]})

    def of(self, a, b):
        found = compare_findings(audit(a), audit(b))
        names = ("fixed", "introduced", "maybe_fixed", "maybe_introduced")
        return found, {name: {*getattr(found, name).counts} for name in names}

    def reasons(self, found):
        return {each.rule: (each.a, each.b) for each in found.not_compared}

    def test_a_cluster_that_lost_its_racks_has_nothing_fixed(self):
        found, rules = self.of(self.KNOWN, self.UNKNOWN)
        assert rules == {
            "fixed": set(),
            "introduced": {"rack-missing"},
            "maybe_fixed": {"spread-even", "rack-loss-offline"},
            "maybe_introduced": set(),
        }
        assert self.reasons(found)["spread-even"] == (None, "no broker has a rack")
        assert "replication" not in self.reasons(found)

    def test_what_was_not_checked_before_may_be_old(self):
        found, rules = self.of(self.UNKNOWN, self.KNOWN)
        assert rules == {
            "fixed": {"rack-missing"},
            "introduced": set(),
            "maybe_fixed": set(),
            "maybe_introduced": {"spread-even", "rack-loss-offline"},
        }
        assert self.reasons(found)["spread-even"] == ("no broker has a rack", None)

    def test_one_broker_without_a_rack_leaves_findings_open(self):
        found, rules = self.of(self.KNOWN, self.PARTLY)
        assert "spread-even" in rules["maybe_fixed"]
        assert rules["fixed"] == set()
        assert self.reasons(found)["spread-even"] == (None, "no rack is known of 1 live broker")

    def test_rules_that_neither_checked_for_the_same_reason_are_compared(self):
        found, _ = self.of(self.UNKNOWN, self.UNKNOWN)
        assert found.not_compared == ()
        assert found.not_checked["spread-even"] == "no broker has a rack"
        assert diff(self.UNKNOWN, self.UNKNOWN).is_equal

    def test_clusters_are_not_equal_if_only_one_could_be_checked(self):
        seen = small_cluster(RACKS, {"s-0": [1, 2]}, min_isr=1)
        hidden = small_cluster(RACKS, {"s-0": [1, 2]}, min_isr=None)
        found = diff(seen, hidden)
        assert (found.partitions, found.brokers) == ((), ())
        assert not found.is_equal
