import pytest

from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.policy import AtLeast, BrokerPolicy, Policy, RackCount, RackPolicy, TopicBlock
from small_clusters import messages, small_cluster

ZONES = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
TREE = {1: "/e/a", 2: "/e/a", 3: "/e/b", 4: "/w/a", 5: "/w/b"}


def policy(*, levels=(), missing="error", drain=(), **block):
    return Policy(
        racks=RackPolicy(levels=levels, missing=missing),
        brokers=BrokerPolicy(drain=drain),
        topics=(TopicBlock(match=("*",), **block),),
    )


def found(rule, racks, lists, wanted=None, **options):
    cluster = small_cluster(racks, lists, **options)
    findings = audit(cluster, wanted or Policy())
    check_findings(findings, cluster, wanted or Policy())
    return messages(findings, rule)


class TestEven:
    def even(self, lists, racks=ZONES, wanted=None, **options):
        return found("spread-even", racks, {"t-0": lists}, wanted, **options)

    @pytest.mark.parametrize("lists", [[1], [1, 3], [1, 3, 5], [1, 2, 3, 5], [1, 2, 3, 4, 5, 6]])
    def test_counts_that_differ_by_one_are_even(self, lists):
        assert self.even(lists) == []

    @pytest.mark.parametrize(
        ("lists", "wanted", "had"),
        [
            ([1, 2], "a 0..1", "a 2"),
            ([1, 2, 3], "a 1, c 1", "a 2, c 0"),
            ([1, 2, 3, 4], "c 1..2", "c 0"),
            ([1, 2, 3, 4, 5], "", ""),
        ],
    )
    def test_racks_with_wrong_counts_are_named(self, lists, wanted, had):
        expected = [f"t-0 at zone: wanted {wanted}; had {had}"] if wanted else []
        assert self.even(lists) == expected

    def test_more_replicas_than_racks_are_allowed(self):
        assert self.even([1, 2, 3], {1: "a", 2: "a", 3: "b"}) == []

    def test_rack_holds_at_most_its_brokers(self):
        racks = {1: "a", 2: "b", 3: "b", 4: "b", 5: "b"}
        assert self.even([1, 2, 3, 4], racks) == []
        assert self.even([2, 3, 4, 5], racks) == ["t-0 at zone: wanted a 1, b 3; had a 0, b 4"]

    def test_rack_without_usable_brokers_does_not_count(self):
        assert self.even([1, 2, 3], {1: "a", 2: "a", 3: "b", 4: "c"}, dead=[4]) == []
        assert self.even([1, 2, 3], {1: "a", 2: "a", 3: "b", 4: "c"}, policy(drain=(4,))) == []

    def test_a_dead_replica_counts_in_its_rack(self):
        racks = {1: "a", 2: "a", 3: "b", 4: "c"}
        assert self.even([1, 3, 4], racks, dead=[4]) == []
        assert self.even([1, 2, 4], racks, dead=[4]) == [
            "t-0 at zone: wanted a 1, b 1; had a 2, b 0"
        ]

    def test_a_drained_replica_is_not_reported_twice(self):
        racks = {1: "a", 2: "a", 3: "b", 4: "b"}
        assert self.even([1, 2, 3, 4], racks, policy(drain=(2,))) == []

    def test_replicas_in_unknown_racks_are_ignored(self):
        assert self.even([1, 3, 99]) == []
        assert self.even([1, 2, 99]) == ["t-0 at zone: wanted a 0..1; had a 2"]

    def test_added_replicas_do_not_count_and_removed_ones_do(self):
        assert self.even([1, 3, 5, 2], adding={"t-0": [2]}, removing={"t-0": [1]}) == []
        assert self.even([1, 2, 3, 5], adding={"t-0": [5]}) != []

    def test_each_level_starts_from_the_actual_counts(self):
        assert self.even([1, 2, 4], TREE) == [
            "t-0 at level2: wanted /e/a 1, /e/b 1; had /e/a 2, /e/b 0"
        ]
        assert self.even([1, 2, 3], TREE) == [
            "t-0 at level1: wanted /e 1..2, /w 1..2; had /e 3, /w 0"
        ]

    def test_two_uneven_parents_are_two_findings_in_path_order(self):
        racks = {1: "/w/a", 2: "/w/a", 3: "/w/b", 4: "/e/a", 5: "/e/a", 6: "/e/b"}
        assert self.even([1, 2, 4, 5], racks) == [
            "t-0 at level2: wanted /e/a 1, /e/b 1; had /e/a 2, /e/b 0",
            "t-0 at level2: wanted /w/a 1, /w/b 1; had /w/a 2, /w/b 0",
        ]

    def test_level_that_is_off_is_skipped(self):
        wanted = policy(levels=("region", "zone"), spread={"region": "off"})
        assert self.even([1, 3], TREE, wanted) == []
        assert self.even([1, 3, 2], TREE, wanted) == ["t-0 at zone: wanted /e/a 0..1; had /e/a 2"]

    def test_four_levels(self):
        racks = {1: "/e/a/r/1", 2: "/e/a/r/2", 3: "/e/a/s/1", 4: "/e/b/r/1"}
        assert self.even([1, 2, 4], racks) == [
            "t-0 at level3: wanted /e/a/r 1, /e/a/s 1; had /e/a/r 2, /e/a/s 0"
        ]

    def test_a_short_path_is_padded(self):
        assert self.even([1, 2], {1: "/e/a", 2: "/e", 3: "/w"}) == [
            "t-0 at level1: wanted /e 1, /w 1; had /e 2, /w 0"
        ]
        assert self.even([1, 3], {1: "/e/a", 2: "/e", 3: "/w"}) == []

    def test_duplicate_broker_does_not_fail(self):
        cluster = small_cluster({1: "a", 2: "b"}, {"t-0": [1, 1, 1]})
        assert messages(audit(cluster), "spread-even") == []


class TestDistinct:
    def distinct(self, lists, racks=ZONES, **options):
        wanted = policy(spread={"zone": "distinct"})
        return found("spread-distinct", racks, {"t-0": lists}, wanted, **options)

    def test_one_in_each_rack_is_allowed(self):
        assert self.distinct([1, 3, 5]) == []

    def test_two_in_one_rack_are_reported(self):
        assert self.distinct([1, 2, 3, 4]) == ["t-0 at zone: wanted a 0..1, b 0..1; had a 2, b 2"]

    def test_a_dead_replica_counts(self):
        assert self.distinct([1, 2], dead=[2]) == ["t-0 at zone: wanted a 0..1; had a 2"]

    def test_unknown_racks_are_never_equal(self):
        assert self.distinct([98, 99]) == []

    def test_each_level_is_checked_alone(self):
        wanted = policy(levels=("region", "zone"), spread={"region": "off", "zone": "distinct"})
        assert found("spread-distinct", TREE, {"t-0": [1, 3, 2]}, wanted) == [
            "t-0 at zone: wanted /e/a 0..1; had /e/a 2"
        ]


class TestAtLeast:
    def at_least(self, racks_wanted, lists, **options):
        wanted = policy(spread={"zone": AtLeast(racks_wanted)})
        return found("spread-at-least", ZONES, {"t-0": lists}, wanted, **options)

    def test_enough_racks(self):
        assert self.at_least(2, [1, 2, 3]) == []

    def test_too_few_racks(self):
        assert self.at_least(3, [1, 2, 3]) == ["t-0 at zone: wanted 3 racks; had 2"]

    def test_at_most_as_many_racks_as_replicas(self):
        assert self.at_least(3, [1]) == []

    def test_unknown_rack_does_not_count(self):
        assert self.at_least(2, [1, 99]) == ["t-0 at zone: wanted 2 racks; had 1"]


class TestCount:
    def count(self, lists, *count, others="any", racks=TREE, **options):
        wanted = policy(spread={"level1": "off", "level2": "off"}, count=count, count_others=others)
        return found("rack-count", racks, {"t-0": lists}, wanted, **options)

    def test_expected_count(self):
        assert self.count([1, 2, 4], RackCount(rack="/e", min=2, max=2)) == []

    def test_wrong_count(self):
        assert self.count(
            [1, 2, 3], RackCount(rack="/e", min=2, max=2), RackCount(rack="/w", min=1)
        ) == ["t-0 at level1: wanted /e 2, /w 1 or more; had /e 3, /w 0"]

    def test_replicas_in_other_racks(self):
        only = RackCount(rack="/e", min=0, max=2)
        assert self.count([1, 4], only, others="none") == [
            "t-0 at level1: wanted others 0; had others 1"
        ]
        assert self.count([1, 4, 99], only) == []

    def test_counted_racks_on_two_levels_have_no_level(self):
        counted = (RackCount(rack="/e", max=2), RackCount(rack="/w/a", min=1, max=1))
        assert self.count([1, 2, 3], *counted) == ["t-0: wanted /e 0..2, /w/a 1; had /e 3, /w/a 0"]

    def test_count_replaces_even_only_at_its_level(self):
        wanted = policy(
            levels=("region", "zone"),
            count=(RackCount(rack="/e", min=2, max=2), RackCount(rack="/w", min=0, max=0)),
        )
        lists = {"t-0": [1, 3], "t-1": [1, 2]}
        assert found("spread-even", TREE, lists, wanted) == [
            "t-1 at zone: wanted /e/a 1, /e/b 1; had /e/a 2, /e/b 0"
        ]

    def test_topic_without_placed_replicas_is_not_reported(self):
        wanted = policy(count=(RackCount(rack="a", min=1, max=1),))
        assert found("rack-count", ZONES, {"t-0": [1]}, wanted, adding={"t-0": [1]}) == []


def test_a_live_broker_without_a_rack_is_named_as_a_reason():
    """Broker 2 may be in the rack of broker 1, so no finding does not mean an even spread."""
    found = audit(small_cluster({1: "a", 2: None, 3: "b"}, {"t-0": [1, 2]}))
    for rule in ("spread-even", "spread-distinct", "spread-at-least", "rack-count"):
        assert found.not_checked[rule] == "no rack is known of 1 live broker"
    assert "spread-even" not in audit(small_cluster({1: "a", 3: "b"}, {"t-0": [1, 3]})).not_checked
