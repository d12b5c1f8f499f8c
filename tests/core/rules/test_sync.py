import pytest

from laws import check_findings
from rackwise.core.audit import audit
from rackwise.core.policy import Policy
from small_clusters import messages, small_cluster

RACKS = {1: "a", 2: "b", 3: "c", 4: "a"}
SYNC_RULES = ("offline", "under-min-isr", "under-replicated", "at-min-isr")


def found(isr, *, replicas=(1, 2, 3), leader=1, min_isr=2, dead=(), adding=()):
    cluster = small_cluster(
        RACKS,
        {"t-0": replicas},
        leaders={"t-0": leader},
        isr={"t-0": isr},
        adding={"t-0": adding},
        min_isr=min_isr,
        dead=dead,
    )
    findings = audit(cluster)
    check_findings(findings, cluster, Policy())
    return {rule: texts for rule in SYNC_RULES if (texts := messages(findings, rule))}


UNDER_REPLICATED = ["t-0: wanted 3 in sync; had 2"]


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        ({"isr": (1, 2, 3)}, {}),
        (
            {"isr": (1, 2)},
            {
                "under-replicated": UNDER_REPLICATED,
                "at-min-isr": ["t-0: wanted more than 2 in sync; had 2"],
            },
        ),
        (
            {"isr": (1, 2), "dead": (2,)},
            {
                "under-replicated": UNDER_REPLICATED,
                "under-min-isr": ["t-0: wanted 2 in sync; had 1"],
            },
        ),
        ({"isr": (1, 2), "min_isr": 1}, {"under-replicated": UNDER_REPLICATED}),
        ({"isr": (1, 2), "min_isr": None}, {"under-replicated": UNDER_REPLICATED}),
        (
            {"isr": (2,), "leader": None, "dead": (2,)},
            {
                "offline": ["t-0: wanted a leader; had none"],
                "under-replicated": ["t-0: wanted 3 in sync; had 1"],
            },
        ),
        ({"isr": (1, 2, 3), "min_isr": 3}, {}),
    ],
)
def test_replicas_in_sync(case, wanted):
    assert found(**case) == wanted


def test_an_added_replica_in_sync_counts_as_kafka_counts_it():
    assert found((1, 4), replicas=(1, 2, 4), adding=(4,), min_isr=2) == {}
    assert found((1, 2, 4), replicas=(1, 2, 3, 4), adding=(4,), min_isr=2) == {}
