from dataclasses import replace

import pytest

from rackwise.core.errors import InvalidPolicy
from rackwise.core.policy import (
    POLICY_FORMAT,
    AtLeast,
    AuditPolicy,
    BrokerPolicy,
    Policy,
    RackCount,
    RackPolicy,
    TopicBlock,
    check_policy,
    policy_of,
)
from small_clusters import small_cluster

TREE = small_cluster(
    {1: "/eu/a", 2: "/eu/b", 3: "/us/a"}, {"t-0": [1, 2, 3], "t-1": [1, 9], "u-0": [1]}
)
ZONES = small_cluster({1: "a", 2: "b"}, {"t-0": [1, 2]})
RACKLESS = small_cluster({1: None}, {"t-0": [1]})


def refused(policy, message, *, hint=None, cluster=TREE):
    with pytest.raises(InvalidPolicy) as caught:
        check_policy(policy, cluster)
    assert str(caught.value) == f"invalid policy at $.{message}"
    assert caught.value.where == "$." + message.partition(":")[0]
    assert caught.value.wanted is not None
    assert caught.value.had is not None
    assert hint is None or hint in caught.value.hint


def block(**said):
    return Policy(topics=(TopicBlock(match=("t*",), **said),))


class TestLevels:
    def test_as_many_names_as_levels(self):
        refused(
            Policy(racks=RackPolicy(levels=("zone",))),
            ("racks.levels: expected 2 level names, one for each level of the racks, got 1"),
            hint="coarsest first",
        )
        check_policy(Policy(racks=RackPolicy(levels=("region", "zone"))), TREE)

    def test_no_more_names_than_levels(self):
        refused(
            Policy(racks=RackPolicy(levels=("region", "zone"))),
            ("racks.levels: expected 1 level name, one for each level of the racks, got 2"),
            cluster=ZONES,
        )

    def test_levels_that_are_named(self):
        refused(
            Policy(audit=AuditPolicy(rack_loss=("level1", "zone"))),
            'audit.rack_loss[1]: no level is called "zone"',
            hint="levels: level1, level2",
        )
        refused(
            block(spread={"level3": "off"}), 'topics[0].spread.level3: no level is called "level3"'
        )
        check_policy(block(spread={"zone": "off"}), ZONES)

    def test_without_racks_any_name_will_do(self):
        check_policy(Policy(racks=RackPolicy(levels=("region", "zone"))), RACKLESS)
        check_policy(block(spread={"level2": "off"}), RACKLESS)


class TestBrokers:
    @pytest.mark.parametrize(
        ("policy", "path"),
        [
            (Policy(brokers=BrokerPolicy(drain=(1, 7))), "brokers.drain[1]"),
            (Policy(brokers=BrokerPolicy(exclude=(7,))), "brokers.exclude[0]"),
            (Policy(brokers=BrokerPolicy(no_lead=(7,))), "brokers.no_lead[0]"),
            (Policy(brokers=BrokerPolicy(weights={7: 2})), 'brokers.weights["7"]'),
            (block(pin={3: (1, 7)}), 'topics[0].pin["3"][1]'),
        ],
    )
    def test_that_are_not_there(self, policy, path):
        refused(policy, f"{path}: no broker has id 7", hint="brokers: 1, 2, 3")

    def test_that_only_hold_replicas_are_there(self):
        check_policy(Policy(brokers=BrokerPolicy(drain=(9,))), TREE)

    def test_of_many_some_are_hinted(self):
        many = small_cluster(dict.fromkeys(range(20), "a"), {})
        refused(
            Policy(brokers=BrokerPolicy(drain=(99,))),
            "brokers.drain[0]: no broker has id 99",
            hint="10, 11 and 8 more",
            cluster=many,
        )


class TestRacks:
    def test_that_are_not_there(self):
        refused(
            block(count=(RackCount(rack="/eu"), RackCount(rack="/asia"))),
            'topics[0].count[1].rack: no rack is called "/asia"',
            hint="racks: /eu, /us, /eu/a",
        )
        refused(
            block(leader_racks=("/eu/c",)),
            'topics[0].leader_racks[0]: no rack is called "/eu/c"',
        )

    def test_every_level_has_racks(self):
        check_policy(block(leader_racks=("/eu", "/us/a")), TREE)


class TestTopics:
    def test_rules_of_several_blocks_are_judged_together(self):
        policy = Policy(
            topics=(
                TopicBlock(match=("*",), count=(RackCount(rack="/eu", min=2, max=2),)),
                TopicBlock(match=("u",), replication=1),
            )
        )
        refused(
            policy,
            (
                "topics[0].count: topic u: expected counts with a "
                "sum of at most replication 1, got the sum 2"
            ),
        )

    def test_the_most_replicas_of_a_topic_stand_for_replication(self):
        check_policy(block(pin={1: (1, 2, 3)}), TREE)
        refused(
            block(pin={0: (1, 2)}),
            (
                "topics[0].pin: topic t: expected at most "
                "replication 1 brokers for partition 0, got 2"
            ),
            cluster=small_cluster({1: "a", 2: "b"}, {"t-0": [1]}),
        )

    def test_replication_counts_where_the_policy_gives_it(self):
        counted = (RackCount(rack="/eu", min=2, max=2),)
        policy = Policy(topics=(TopicBlock(match=("u",), count=counted, count_others="none"),))
        refused(
            policy,
            (
                "topics[0].count: topic u: expected counts with a "
                "sum of at most replication 1, got the sum 2"
            ),
        )
        check_policy(replace(policy, topics=(replace(policy.topics[0], replication=2),)), TREE)

    def test_levels_left_out_are_even(self):
        refused(
            block(spread={"level2": AtLeast(2)}),
            ("topics[0].spread: topic t: expected at_least alone, got it together with even"),
        )
        check_policy(block(spread={"level1": "off", "level2": AtLeast(2)}), TREE)
        check_policy(block(spread={"zone": AtLeast(2)}), ZONES)

    def test_racks_beside_the_counted_ones_may_hold_the_rest(self):
        counted = (RackCount(rack="/eu", min=1, max=1),)
        refused(
            block(count=counted),
            (
                "topics[0].count: topic t: expected one number, or "
                "two that differ by one, for the other racks, as the level below is "
                "even, got 0 to 2"
            ),
        )
        check_policy(block(count=counted, count_others="none"), TREE)
        both = (RackCount(rack="/eu", max=1), RackCount(rack="/us", max=1))
        check_policy(block(count=both), TREE)

    def test_blocks_that_match_nothing_are_not_judged(self):
        policy = Policy(topics=(TopicBlock(match=("z",), count=(RackCount(rack="/eu", min=9),)),))
        check_policy(policy, TREE)


def test_the_place_is_the_reader_s():
    with pytest.raises(InvalidPolicy) as caught:
        check_policy(
            Policy(brokers=BrokerPolicy(drain=(7,))), TREE, where=lambda path: f"p.toml:{path[-2]}"
        )
    assert caught.value.where == "p.toml:0"


def test_racks_of_brokers_are_those_that_count():
    between = small_cluster({1: "a", 2: "/eu/b", 3: "/eu/c/"}, {})
    names = {"racks": {"levels": ["region", "zone"], "map": {"a": "/eu/a"}}}
    block = {"match": ["*"], "count": [{"rack": "/eu/a", "min": 0, "max": 1}]}
    table = {"format": POLICY_FORMAT, "topics": [block]}
    check_policy(policy_of(table | names), between)
    with pytest.raises(InvalidPolicy, match='no rack is called "/eu/a"'):
        check_policy(policy_of(table), between)
