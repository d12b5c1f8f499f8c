from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.policy import Policy, RackPolicy
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


def listed(rule, racks, lists):
    return messages(audit(small_cluster(racks, lists)), rule)


ODD = {1: "/eu/a", 2: "/eu/b", 3: "use1-az3", 4: "/eu/c/", 5: "/eu/\x1b", 6: None}


class TestOddRacks:
    """KIP-879: Every rack definition must start with "/". Kafka itself checks no rack."""

    def test_each_is_a_finding_and_not_missing_as_well(self):
        assert listed("rack-odd", ODD, {}) == [
            "broker 3: wanted a path, as 2 of 5 brokers have; had use1-az3",
            "broker 4: wanted /level/level; had /eu/c/",
            "broker 5: wanted printable text; had /eu/\\x1b",
        ]
        assert listed("rack-missing", ODD, {}) == ["broker 6: wanted a rack; had none"]
        assert listed("rack-odd", {1: "", 2: "a"}, {}) == [
            "broker 1: wanted printable text; had an empty text"
        ]

    def test_it_is_a_finding_whatever_missing_racks_mean(self):
        cluster = small_cluster(ODD, {})
        for missing in ("error", "one-rack", "unaware"):
            findings = audit(cluster, Policy(racks=RackPolicy(missing=missing)))
            assert findings.counts["rack-odd"] == 3

    def test_replicas_on_them_are_in_no_rack(self):
        lists = {"t-0": [1, 2], "t-1": [1, 3], "t-2": [1, 1]}
        assert listed("spread-even", ODD, lists) == listed(
            "spread-even", {**ODD, 3: None, 4: None, 5: None}, lists
        )

    def test_with_the_map_the_audit_is_the_one_after_the_change(self):
        lists = {"t-0": [1, 2], "t-1": [1, 4], "t-2": [2, 3]}
        racks = {1: "a", 2: "b", 3: "a", 4: "c"}
        to = {name: f"/eu/{name}" for name in "abc"}
        after = audit(small_cluster({id_: to[name] for id_, name in racks.items()}, lists))
        policy = Policy(racks=RackPolicy(map=to))
        for done in range(5):
            between = {id_: to[name] if id_ <= done else name for id_, name in racks.items()}
            assert audit(small_cluster(between, lists), policy) == after


def test_paths_shorter_than_the_deepest():
    assert found("rack-depth", {1: "/a/b/c", 2: "/a", 3: "/b/c"}, {}) == [
        "broker 2: wanted 3 levels; had 1 in /a",
        "broker 3: wanted 3 levels; had 2 in /b/c",
    ]
