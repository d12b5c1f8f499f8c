from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.policy import BrokerPolicy, Policy, TopicBlock
from small_clusters import messages, small_cluster

RACKS = {1: "a", 2: "b", 3: "c", 4: "a"}


def found(rule, lists, policy=None, **options):
    cluster = small_cluster(RACKS, lists, **options)
    findings = audit(cluster, policy or Policy())
    check_findings(findings, cluster, policy or Policy())
    return messages(findings, rule)


class TestReplication:
    def test_most_common_number_of_the_topic_is_expected(self):
        lists = {"t-0": [1, 2, 3], "t-1": [2, 3, 1], "t-2": [3, 1], "u-0": [1]}
        assert found("replication", lists) == ["t-2: wanted 3 replicas; had 2"]

    def test_greater_of_two_equally_common_numbers_is_expected(self):
        assert found("replication", {"t-0": [1], "t-1": [1, 2]}) == [
            "t-0: wanted 2 replicas; had 1"
        ]

    def test_replication_of_the_policy_is_expected(self):
        policy = Policy(topics=(TopicBlock(match=("t",), replication=2),))
        lists = {"t-0": [1, 2, 3], "t-1": [2, 3], "u-0": [1], "u-1": [1, 2], "u-2": [1]}
        assert found("replication", lists, policy) == [
            "t-0: wanted 2 replicas; had 3",
            "u-1: wanted 1 replica; had 2",
        ]

    def test_added_replicas_do_not_count(self):
        lists = {"t-0": [1, 2, 3], "t-1": [2, 3]}
        assert found("replication", lists, adding={"t-0": [3]}) == []


def test_dead_and_unlisted_brokers_are_not_live():
    lists = {"t-0": [99, 1, 2], "t-1": [1, 3, 4]}
    assert found("dead-replica", lists, dead=[2]) == ["t-0: wanted live brokers only; had 2, 99"]
    assert found("dead-replica", lists | {"t-0": [1, 2, 3]}) == []


def test_drained_brokers_are_reported_listed_or_not():
    policy = Policy(brokers=BrokerPolicy(drain=(2, 99)))
    lists = {"t-0": [99, 1, 2], "t-1": [1, 3, 4]}
    assert found("drained-broker", lists, policy) == ["t-0: wanted no drained broker; had 2, 99"]


class TestPin:
    def test_missing_pinned_broker(self):
        policy = Policy(topics=(TopicBlock(match=("t",), pin={0: (2, 3), 1: (1,), 7: (1,)}),))
        lists = {"t-0": [4, 2, 1], "t-1": [2, 1], "u-0": [4, 1]}
        assert found("pin", lists, policy) == ["t-0: wanted a replica on 2, 3; had 1, 2, 4"]

    def test_partition_without_placed_replicas(self):
        policy = Policy(topics=(TopicBlock(match=("t",), pin={0: (1,)}),))
        assert found("pin", {"t-0": [1]}, policy, adding={"t-0": [1]}) == [
            "t-0: wanted a replica on 1; had none"
        ]
