from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.policy import AuditPolicy, Policy, RackPolicy
from small_clusters import messages, small_cluster

ZONES = {1: "a", 2: "b", 3: "c", 4: "a", 5: None}
TREE = {1: "/e/a", 2: "/e/b", 3: "/w/a", 4: "/w/b"}


def found(lists, *, racks=ZONES, rack_loss=None, levels=(), min_isr=2, **options):
    policy = Policy(racks=RackPolicy(levels=levels), audit=AuditPolicy(rack_loss=rack_loss))
    cluster = small_cluster(racks, lists, min_isr=min_isr, **options)
    findings = audit(cluster, policy)
    check_findings(findings, cluster, policy)
    return messages(findings, "rack-loss-offline"), messages(findings, "rack-loss-min-isr")


def test_three_zones_survive_one_loss():
    assert found({"t-0": [1, 2, 3]}) == ([], [])


def test_replicas_in_one_zone_go_offline_with_it():
    assert found({"t-0": [1, 4], "t-1": [2]}) == (
        [
            "t-0 at zone: wanted in sync in 2 racks; had all 2 in a",
            "t-1 at zone: wanted in sync in 2 racks; had all 1 in b",
        ],
        [],
    )


def test_too_few_replicas_left_without_some_zones():
    assert found({"t-0": [1, 4, 2], "t-1": [2, 3]}) == (
        [],
        [
            "t-0 at zone: wanted 2 in sync without any one rack; had 1 without a",
            "t-1 at zone: wanted 2 in sync without any one rack; had 1 without b, 1 without c",
        ],
    )


def test_offline_partition_is_not_reported_as_a_loss():
    lists = {"t-0": [1, 2, 3], "t-1": [1, 2]}
    assert found(lists, isr={"t-0": [1]}, leaders={"t-1": None}) == (
        ["t-0 at zone: wanted in sync in 2 racks; had all 1 in a"],
        [],
    )


def test_partition_under_min_isr_is_not_reported_as_a_loss():
    assert found({"t-0": [1, 2, 3]}, isr={"t-0": [1, 2]}, min_isr=3) == ([], [])


def test_unknown_min_isr_checks_only_offline():
    assert found({"t-0": [1, 2]}, min_isr=None) == ([], [])


def test_replica_in_unknown_rack_survives():
    assert found({"t-0": [1, 5]}, min_isr=1) == ([], [])
    assert found({"t-0": [1, 5]}) == (
        [],
        ["t-0 at zone: wanted 2 in sync without any one rack; had 1 without a"],
    )


def test_dead_members_of_the_isr_do_not_count():
    assert found({"t-0": [1, 4, 2]}, dead=[2]) == (
        ["t-0 at zone: wanted in sync in 2 racks; had all 2 in a"],
        [],
    )


def test_finest_level_is_the_default():
    lists = {"t-0": [1, 2]}
    assert found(lists, racks=TREE, min_isr=1) == ([], [])
    named = found(lists, racks=TREE, min_isr=1, levels=("region", "az"), rack_loss=("region", "az"))
    assert named == (["t-0 at region: wanted in sync in 2 racks; had all 2 in /e"], [])
    assert found(lists, racks=TREE, rack_loss=()) == ([], [])


def test_a_live_broker_without_a_rack_is_named_as_a_reason():
    """Its replicas survive each loss, so a loss that takes a partition offline may be missed."""
    found = audit(small_cluster({1: "a", 2: None, 3: "b"}, {"t-0": [1, 2]}))
    for rule in ("rack-loss-offline", "rack-loss-min-isr"):
        assert found.not_checked[rule] == "no rack is known of 1 live broker"
    unknown = audit(small_cluster({1: "a", 3: "b"}, {"t-0": [1, 3]}, min_isr=None))
    assert "rack-loss-offline" not in unknown.not_checked
    assert "min.insync.replicas" in unknown.not_checked["rack-loss-min-isr"]
