from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.model import Configs, Note
from rackwise.core.policy import Policy
from small_clusters import messages, small_cluster


def found(rule, racks, lists, **options):
    cluster = small_cluster(racks, lists, **options)
    findings = audit(cluster)
    check_findings(findings, cluster, Policy())
    return messages(findings, rule)


def test_live_brokers_without_rack():
    racks = {1: "/a", 2: None, 3: None, 4: "/"}
    assert found("rack-missing", racks, {}, dead=[3]) == [
        "broker 2: wanted a rack; had none",
        "broker 4: wanted a rack; had /",
    ]


def test_paths_that_are_too_short():
    assert found("rack-depth", {1: "/a/b/c", 2: "/a", 3: "/b/c"}, {}) == [
        "broker 2: wanted 3 levels; had 1 in /a",
        "broker 3: wanted 3 levels; had 2 in /b/c",
    ]


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

    def test_left_while_nothing_is_reassigning(self):
        racks = {1: "a", 2: "b", 3: "c"}
        assert found("throttle-left", racks, THROTTLED, configs=self.configs) == [
            f"broker 1: wanted no throttle; had {LIMIT}rate=7",
            f"broker 2: wanted no throttle; had {LIMIT}rate=1000, {FOLLOW}rate=9",
            f"topic t: wanted no throttle; had {LIMIT}replicas=0:1",
            f"topic u: wanted no throttle; had {FOLLOW}replicas=*",
        ]

    def test_wanted_while_something_is(self):
        racks = {1: "a", 2: "b"}
        for options in ({"adding": {"t-0": [2]}}, {"removing": {"t-0": [2]}}):
            assert found("throttle-left", racks, THROTTLED, configs=self.configs, **options) == []


def test_sizes_that_are_not_known_are_counted():
    lists = {"t-0": [1], "t-1": [1], "t-2": [1]}
    assert found("size-unknown", {1: "a"}, lists, sizes={"t-0": None, "t-2": None}) == [
        "cluster: wanted the size of 3 partitions; had 2 not known"
    ]
    assert found("size-unknown", {1: "a"}, lists) == []


def test_what_was_not_visible_is_reported_once():
    notes = [
        Note(kind="not-visible", text="log folders of broker 2"),
        Note(kind="torn", text="changed while reading"),
        Note(kind="not-visible", text="log folders of broker 1"),
    ]
    assert found("not-visible", {1: "a"}, {}, notes=notes) == [
        "cluster: wanted all of it visible; had log folders of broker 1; log folders of broker 2"
    ]
