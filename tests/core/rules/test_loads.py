from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.model import FairLoads
from rackwise.core.policy import Policy, TopicBlock
from small_clusters import messages, small_cluster

ZONES = {1: "a", 2: "a", 3: "b", 4: "b"}
SPREAD = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))


def found(rule, lists, fair=None, policy=SPREAD, racks=ZONES, **options):
    cluster = small_cluster(racks, lists, **options)
    findings = audit(cluster, policy, fair=fair)
    check_findings(findings, cluster, policy, fair)
    return messages(findings, rule)


LISTS = {"t-0": [1, 3], "t-1": [1, 4], "t-2": [3, 1], "u-0": [1]}


class TestFairLoads:
    def test_replicas_outside_the_range(self):
        fair = FairLoads(low={1: 1, 2: 1, 3: 2}, high={1: 3, 4: 1})
        assert found("replica-balance", LISTS, fair) == [
            "broker 1: wanted 1..3 replicas; had 4",
            "broker 2: wanted 1 or more replicas; had 0",
        ]

    def test_preferred_leaderships_outside_the_range(self):
        fair = FairLoads(leader_low={1: 1, 2: 1}, leader_high={1: 2, 2: 1, 3: 0})
        assert found("leader-balance", LISTS, fair, leaders={"t-0": 3}) == [
            "broker 1: wanted 1..2 preferred leaderships; had 3",
            "broker 2: wanted 1 preferred leadership; had 0",
            "broker 3: wanted 0 preferred leaderships; had 1",
        ]

    def test_added_replicas_count_neither_as_load_nor_as_leader(self):
        fair = FairLoads(high={2: 0}, leader_high={2: 0})
        options = {"lists": {"t-0": [2, 1], "t-1": [2]}, "adding": {"t-0": [2], "t-1": [2]}}
        assert found("replica-balance", fair=fair, **options) == []
        assert found("leader-balance", fair=fair, **options) == []

    def test_replicas_of_a_topic_above_its_cap(self):
        fair = FairLoads(topic_caps={"t": {1: 2, 3: 2, 2: 0}, "none": {1: 0}})
        assert found("topic-spread", LISTS, fair) == [
            "topic t on broker 1: wanted at most 2 replicas; had 3"
        ]
