import random
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import check_findings
from rackwise.core import rules
from rackwise.core.audit import (
    IGNORED,
    PLACEMENT_ERRORS,
    RULES,
    audit,
    check_ignored,
    needs_fair_loads,
    needs_racks,
    sum_unsafe,
    unchecked_placement,
    unsafe_partitions,
)
from rackwise.core.errors import InvalidConfig, InvalidPolicy
from rackwise.core.model import Cluster, FairLoads, Note, Partition, PartitionTable, Topic
from rackwise.core.policy import (
    AuditPolicy,
    BalancePolicy,
    BrokerPolicy,
    Policy,
    RackPolicy,
    TopicBlock,
)
from small_clusters import small_cluster
from strategies import crowded_clusters, fair_loads, policies
from vectors import audit_vector

ALL_RULES = set(RULES)


def test_every_rule_has_one_function_that_checks_it():
    assert list(RULES.checks) == list(RULES)
    assert len(set(RULES.checks.values())) == len(RULES)


def test_each_rule_is_named_at_the_top_of_the_package_of_rules():
    table = rules.__doc__.split("```")[1]
    listed = [name for line in table.strip().splitlines() for name in line.split(maxsplit=1)[1:]]
    named = {name for names in listed for name in names.split(", ")}
    assert named == ALL_RULES, "name the rule in the docstring of core/rules/__init__.py"


def test_the_order_of_the_rules_is_fixed():
    assert list(RULES) == [
        "rack-missing",
        "rack-odd",
        "rack-depth",
        "spread-even",
        "spread-distinct",
        "spread-at-least",
        "rack-count",
        "replication",
        "dead-replica",
        "drained-broker",
        "pin",
        "offline",
        "under-min-isr",
        "under-replicated",
        "at-min-isr",
        "rack-loss-offline",
        "rack-loss-min-isr",
        "leader-rack",
        "replica-balance",
        "leader-balance",
        "topic-spread",
        "throttle-left",
        "not-preferred-leader",
        "reassigning",
        "unequal-racks",
        "size-unknown",
        "not-visible",
        "cordoned",
    ]


def test_vector_has_exactly_the_listed_findings():
    cluster, policy, vector = audit_vector()
    found = [
        {
            "rule": f.rule,
            "severity": str(f.severity),
            "where": f.place,
            "level": f.level,
            "wanted": f.wanted,
            "had": f.had,
        }
        for f in audit(cluster, policy)
    ]
    assert found == vector["findings"]


def test_vector_satisfies_the_audit_law():
    cluster, policy, _ = audit_vector()
    check_findings(audit(cluster, policy), cluster, policy)


@given(st.data())
def test_findings_equal_those_of_a_naive_audit(data):
    cluster = data.draw(crowded_clusters())
    policy = data.draw(policies(cluster))
    fair = data.draw(st.none() | fair_loads(cluster))
    check_findings(audit(cluster, policy, fair=fair), cluster, policy, fair)


@given(st.from_type(Cluster))
def test_default_policy_audits_any_snapshot(cluster):
    check_findings(audit(cluster), cluster, Policy())


@given(st.data())
def test_input_order_does_not_change_findings(data):
    cluster = data.draw(crowded_clusters())
    policy = data.draw(policies(cluster))
    shuffle = random.Random(data.draw(st.integers(0, 2**16)))
    brokers, rows = list(cluster.brokers), list(cluster.partitions)
    topics, configs = list(cluster.topics.items()), list(cluster.configs.brokers.items())
    for some in (brokers, rows, topics, configs):
        shuffle.shuffle(some)
    other = replace(
        cluster,
        brokers=tuple(brokers),
        topics=dict(topics),
        partitions=PartitionTable.of(rows),
        configs=replace(cluster.configs, brokers=dict(configs)),
    )
    assert audit(other, policy) == audit(cluster, policy)


SHOW = """
from vectors import audit_vector
from rackwise.core.audit import audit, blast_radius
cluster, _, _ = audit_vector()
print([f.message for f in audit(cluster)], [repr(loss) for loss in blast_radius(cluster)])
"""


def test_hash_seed_does_not_change_findings():
    shown = {
        subprocess.run(
            [sys.executable, "-c", SHOW],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(shown) == 1


def test_empty_cluster_has_no_findings():
    cluster = Cluster(
        cluster_id=None, taken_at="", brokers=(), topics={}, partitions=PartitionTable.of([])
    )
    assert list(audit(cluster)) == []


class TestChoosingRules:
    cluster = small_cluster({1: "a", 2: "b"}, {"t-0": [1, 1], "t-1": [2]}, leaders={"t-1": None})

    def test_only_requested_rules_are_checked(self):
        found = audit(self.cluster, rules=["offline"])
        assert [f.rule for f in found] == ["offline"]
        assert set(found.not_checked) == ALL_RULES - {"offline"}
        assert found.not_checked["replication"] == "not asked for"

    def test_unknown_rule_is_rejected(self):
        with pytest.raises(InvalidConfig, match='no rule is called "spread"') as caught:
            audit(self.cluster, rules=["spread"])
        assert "rack-missing, rack-odd, rack-depth" in caught.value.hint

    def test_ignored_rules_are_reported(self):
        found = audit(self.cluster, Policy(audit=AuditPolicy(ignore=("offline",))))
        assert "offline" not in found.counts
        assert found.not_checked["offline"] == "ignored by the policy"

    def test_unknown_ignored_rule_is_rejected(self):
        policy = Policy(audit=AuditPolicy(ignore=("offline", "spread")))
        message = r'^invalid policy at \$.audit.ignore\[1\]: no rule is called "spread"$'
        with pytest.raises(InvalidPolicy, match=message) as caught:
            audit(self.cluster, policy)
        assert caught.value.where == "$.audit.ignore[1]"
        assert "rack-missing, rack-odd, rack-depth" in caught.value.hint
        with pytest.raises(InvalidPolicy) as caught:
            check_ignored(policy, where=lambda path: f"p.toml:{path[-2]}")
        assert caught.value.where == "p.toml:1"

    def test_complete_snapshot_has_no_unchecked_rules(self):
        policy = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
        assert audit(self.cluster, policy, fair=FairLoads()).not_checked == {}

    def test_rules_that_need_fair_loads_report_that_they_are_missing(self):
        policy = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
        assert audit(self.cluster, policy).not_checked == dict.fromkeys(
            ("replica-balance", "leader-balance", "topic-spread"), "fair loads were not given"
        )

    def test_rules_that_need_fair_loads(self):
        assert needs_fair_loads(["offline", "topic-spread"])
        assert not needs_fair_loads(["offline", "unequal-racks", "no-such-rule"])

    def test_disabled_balance_is_reported(self):
        policy = Policy(balance=BalancePolicy(replicas="off", leaders="keep"))
        assert audit(self.cluster, policy, fair=FairLoads()).not_checked == {
            "replica-balance": "balance.replicas is off",
            "leader-balance": "balance.leaders is keep",
            "topic-spread": "topic_spread is off",
            "unequal-racks": "balance.replicas is off",
        }

    def test_disabled_rack_loss_is_reported(self):
        found = audit(self.cluster, Policy(audit=AuditPolicy(rack_loss=())))
        assert found.not_checked["rack-loss-offline"] == "audit.rack_loss is off"
        assert found.not_checked["rack-loss-min-isr"] == "audit.rack_loss is off"

    def test_configurations_that_were_not_read_are_reported(self):
        note = Note(kind="no-configs", text="no DescribeConfigs")
        found = audit(replace(self.cluster, notes=(note,)))
        assert found.not_checked["throttle-left"] == "configurations were not read"

    def test_topics_whose_min_isr_is_not_known_are_counted(self):
        cluster = small_cluster({1: "a"}, {"t-0": [1], "u-0": [1], "v-0": [1]})
        topics = {**cluster.topics, "u": Topic(name="u"), "w": Topic(name="w")}
        del topics["v"]
        found = audit(replace(cluster, topics=topics))
        reason = "min.insync.replicas of 2 of 3 topics is not known"
        for rule in ("under-min-isr", "at-min-isr", "rack-loss-min-isr"):
            assert found.not_checked[rule] == reason


SOME_RACKS = {1: "a", 2: "a", 3: "b", 4: None}


class TestBrokersWithoutRack:
    def checked(self, missing, racks=None):
        lists = {"t-0": [1, 2, 4], "t-1": [1, 4], "t-2": [1, 3, 4]}
        cluster = small_cluster(racks or SOME_RACKS, lists)
        return audit(cluster, Policy(racks=RackPolicy(missing=missing)))

    def test_error_reports_brokers_and_checks_replicas_in_racks(self):
        found = self.checked("error")
        assert [f.broker for f in found.by_rule["rack-missing"]] == [4]
        assert [f.message for f in found.by_rule["spread-even"]] == [
            "t-0: spread-even at zone: wanted a 1, b 1; had a 2, b 0"
        ]

    def test_one_rack_groups_them_as_a_rack(self):
        found = self.checked("one-rack")
        assert [f.message for f in found.by_rule["spread-even"]] == [
            "t-0: spread-even at zone: wanted a 1, b 1; had a 2, b 0"
        ]
        assert found.not_checked["rack-missing"] == "racks.missing is one-rack"
        assert [
            f.had
            for f in audit(
                small_cluster({1: "a", 3: None, 4: None}, {"t-0": [3, 4]}),
                Policy(racks=RackPolicy(missing="one-rack")),
            ).by_rule["spread-even"]
        ] == ["(no rack) 2, a 0"]

    def test_unaware_skips_spread_if_a_live_broker_has_no_rack(self):
        found = self.checked("unaware")
        assert "spread-even" not in found.counts
        for rule in ("spread-even", "spread-distinct", "spread-at-least", "rack-count"):
            assert found.not_checked[rule] == (
                "racks.missing is unaware and no rack is known of 1 live broker"
            )

    def test_unaware_checks_spread_if_all_live_brokers_have_racks(self):
        assert self.checked("unaware", {**SOME_RACKS, 4: "c"}).counts["spread-even"] == 1

    def test_cluster_without_any_rack_is_reported(self):
        found = self.checked("error", dict.fromkeys(SOME_RACKS))
        assert found.counts["rack-missing"] == 4
        for rule in ("spread-even", "rack-count", "rack-loss-offline"):
            assert found.not_checked[rule] == "no broker has a rack"


class TestInvalidInput:
    def test_policy_with_unknown_names(self):
        with pytest.raises(InvalidPolicy, match=r"brokers.drain\[0\]: no broker has id 7"):
            audit(TestChoosingRules.cluster, Policy(brokers=BrokerPolicy(drain=(7,))))


def test_findings_are_ordered_by_cluster_topic_partition_rule():
    cluster = small_cluster(
        {1: "a", 2: "a", 3: None},
        {"b-10": [1, 2], "b-9": [1, 9], "a-0": [3]},
        leaders={"b-9": None},
        sizes={"a-0": None},
    )
    places = [(f.place, f.rule) for f in audit(cluster)]
    assert places == [
        ("broker 3", "rack-missing"),
        ("cluster", "size-unknown"),
        ("b-9", "dead-replica"),
        ("b-9", "offline"),
        ("b-9", "at-min-isr"),
        ("b-10", "rack-loss-offline"),
    ]


def test_partition_order_does_not_change_the_table():
    rows = [Partition(topic="t", partition=n, replicas=(1,)) for n in (2, 0, 1)]
    assert PartitionTable.of(rows) == PartitionTable.of(reversed(rows))


AB_RACKS = {1: "a", 2: "b", 3: "a"}


class TestUnsafePartitions:
    def of(self, racks, lists, *, min_isr=1, **policy):
        cluster = small_cluster(racks, lists, min_isr=min_isr)
        return unsafe_partitions(audit(cluster, Policy(**policy)))

    def test_a_partition_counts_once(self):
        assert self.of(AB_RACKS, {"t-0": [1, 2], "u-0": [1, 3, 9]}) == 1

    def test_no_partition_was_found_and_every_rule_was_checked(self):
        assert self.of(AB_RACKS, {"t-0": [1, 2]}) == 0

    def test_without_racks_it_is_not_known(self):
        assert self.of(dict.fromkeys(AB_RACKS), {"t-0": [1, 3]}) is None

    def test_with_one_broker_without_a_rack_it_is_not_known(self):
        """Brokers 1 and 3 are in one rack; the rack of 3 is lost."""
        assert self.of({**AB_RACKS, 3: None}, {"t-0": [1, 3]}) is None

    def test_what_was_found_counts_though_a_rule_could_not_be_checked(self):
        assert self.of(dict.fromkeys(AB_RACKS), {"t-0": [1, 9]}) == 1

    def test_an_unknown_minimum_of_replicas_in_sync_is_not_zero(self):
        assert self.of(AB_RACKS, {"t-0": [1, 2]}, min_isr=None) is None

    def test_rules_that_the_policy_ignores_leave_nothing_open(self):
        policy = AuditPolicy(ignore=tuple(PLACEMENT_ERRORS))
        assert self.of(dict.fromkeys(AB_RACKS), {"t-0": [1, 3]}, audit=policy) == 0

    def test_only_rules_about_placement_and_of_severity_error_matter(self):
        reasons = {"leader-balance": "x", "rack-missing": "x", "offline": IGNORED, "pin": "why"}
        assert unchecked_placement(reasons) == {"pin": "why"}

    def test_those_that_need_racks_are_those_that_lack_them_without_racks(self):
        reasons = audit(small_cluster({1: None}, {"t-0": [1]})).not_checked
        lacking = {name for name in PLACEMENT_ERRORS if needs_racks([name])}
        assert lacking == {*unchecked_placement(reasons)} != set()
        assert not needs_racks([])

    def test_a_sum_of_nothing_found_is_known_only_if_all_are(self):
        assert sum_unsafe([2, None, 3]) == 5
        assert sum_unsafe([0, None]) is None
        assert sum_unsafe([0, 0]) == sum_unsafe([]) == 0
