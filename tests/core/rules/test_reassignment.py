from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.model import Configs
from rackwise.core.policy import Policy
from small_clusters import messages, small_cluster


def found(rule, racks, lists, **options):
    cluster = small_cluster(racks, lists, **options)
    findings = audit(cluster)
    check_findings(findings, cluster, Policy())
    return messages(findings, rule)


LIMIT = "leader.replication.throttled."
FOLLOW = "follower.replication.throttled."
THROTTLED = {"u-0": [1], "t-0": [1, 2], "v-0": [1]}


class TestThrottles:
    configs = Configs(
        brokers={
            2: {f"{FOLLOW}rate": "9", f"{LIMIT}rate": "1000"},
            1: {f"{LIMIT}rate": "7", "log.dirs": "/x"},
            3: {f"{LIMIT}rate": ""},
        },
        topics={
            "t": {f"{LIMIT}replicas": "0:1"},
            "u": {f"{FOLLOW}replicas": "*", "retention.ms": "1"},
            "v": {f"{FOLLOW}replicas": ""},
            "gone": {f"{LIMIT}replicas": "0:1"},
        },
    )

    def test_reported_while_nothing_is_reassigning(self):
        racks = {1: "a", 2: "b", 3: "c"}
        assert found("throttle-left", racks, THROTTLED, configs=self.configs) == [
            f"broker 1: wanted no throttle; had {LIMIT}rate=7",
            f"broker 2: wanted no throttle; had {LIMIT}rate=1000, {FOLLOW}rate=9",
            f"topic t: wanted no throttle; had {LIMIT}replicas=0:1",
            f"topic u: wanted no throttle; had {FOLLOW}replicas=*",
        ]

    def test_not_reported_during_a_reassignment(self):
        racks = {1: "a", 2: "b"}
        for options in ({"adding": {"t-0": [2]}}, {"removing": {"t-0": [2]}}):
            assert found("throttle-left", racks, THROTTLED, configs=self.configs, **options) == []


def test_reassigning_partitions():
    moving = {"t-0": [1, 2, 4], "t-1": [1, 2], "t-2": [2, 1, 3]}
    racks = dict.fromkeys(range(1, 5), "a")
    assert found(
        "reassigning", racks, moving, adding={"t-0": [4]}, removing={"t-0": [1], "t-2": [3]}
    ) == [
        "t-0: wanted nothing in motion; had adding 4, removing 1",
        "t-2: wanted nothing in motion; had adding none, removing 3",
    ]
