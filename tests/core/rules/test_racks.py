from laws import check_findings
from rackwise.core.audit import audit
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


def test_paths_shorter_than_the_deepest():
    assert found("rack-depth", {1: "/a/b/c", 2: "/a", 3: "/b/c"}, {}) == [
        "broker 2: wanted 3 levels; had 1 in /a",
        "broker 3: wanted 3 levels; had 2 in /b/c",
    ]
