from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.policy import BrokerPolicy, Policy, TopicBlock
from small_clusters import messages, small_cluster

TREE = {1: "/e/a", 2: "/e/b", 3: "/w/a", 4: "/w/b"}


def found(rule, lists, policy=None, **options):
    cluster = small_cluster(TREE, lists, **options)
    findings = audit(cluster, policy or Policy())
    check_findings(findings, cluster, policy or Policy())
    return messages(findings, rule)


class TestLeaderRack:
    def test_broker_that_must_not_lead(self):
        policy = Policy(brokers=BrokerPolicy(no_lead=(2,)))
        assert found("leader-rack", {"t-0": [1, 2], "t-1": [2, 1]}, policy) == [
            "t-1: wanted a preferred leader that may lead; had 2"
        ]

    def test_the_first_rack_that_holds_a_replica(self):
        policy = Policy(topics=(TopicBlock(match=("t",), leader_racks=("/w/a", "/e")),))
        lists = {"t-0": [1, 3], "t-1": [3, 1], "t-2": [4, 2], "t-3": [1, 4], "u-0": [1, 3]}
        assert found("leader-rack", lists | {"t-4": [4]}, policy) == [
            "t-0: wanted a preferred leader in /w/a; had 1",
            "t-2: wanted a preferred leader in /e; had 4",
        ]

    def test_two_broken_rules_are_two_findings(self):
        policy = Policy(
            brokers=BrokerPolicy(no_lead=(1,)),
            topics=(TopicBlock(match=("t",), leader_racks=("/w",)),),
        )
        assert found("leader-rack", {"t-0": [1, 3]}, policy) == [
            "t-0: wanted a preferred leader that may lead; had 1",
            "t-0: wanted a preferred leader in /w; had 1",
        ]


class TestNotPreferredLeader:
    def test_another_broker_leads(self):
        leaders = {"t-0": 2, "t-1": None}
        assert found("not-preferred-leader", {"t-0": [1, 2], "t-1": [1, 2]}, leaders=leaders) == [
            "t-0: wanted leader 1; had leader 2"
        ]

    def test_an_added_replica_is_not_preferred(self):
        assert found("not-preferred-leader", {"t-0": [3, 1]}, adding={"t-0": [3]}) == [
            "t-0: wanted leader 1; had leader 3"
        ]
        assert found("not-preferred-leader", {"t-0": [3]}, adding={"t-0": [3]}) == []
