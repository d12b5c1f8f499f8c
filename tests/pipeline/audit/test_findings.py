"""Findings of a fleet as a table: the findings of core for each cluster."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackwise.core.audit import RULES, audit
from rackwise.core.errors import InvalidPolicy
from rackwise.core.policy import Policy
from rackwise.core.policy.model import BrokerPolicy
from small_fleets import cluster, parsed

pytestmark = pytest.mark.spark


def fleet_of(clusters):
    from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
    from rackwise.pipeline.fleet.snapshots import read_snapshots

    return fleet_of_snapshots(read_snapshots(*parsed(clusters))[0])


BLIND = {"blind": [(1, 4), (2, 5), (1, 2)], "dead": [(1, 9), ()]}
TWICE = {1: "/eu/a", 4: "/eu/a", 2: "/eu/b", 5: "/eu/b", 3: None}


def test_rows_are_the_findings_of_core_in_their_order(spark):
    from rackwise.pipeline.audit.findings import audit_fleet, findings
    from rackwise.pipeline.schemas import FINDING

    made = {
        "b.json": cluster(TWICE, BLIND, cluster_id="b"),
        "a.json": cluster(TWICE, BLIND, cluster_id="a", min_isr=1),
        "fine.json": cluster(cluster_id="fine"),
    }
    found = findings(spark, audit_fleet(fleet_of(made)))
    assert found.schema == FINDING
    expected = [
        {"cluster": name, **finding.as_dict()}
        for name, file in (("a", "a.json"), ("b", "b.json"), ("fine", "fine.json"))
        for finding in audit(made[file])
    ]
    assert [row.asDict() for row in found.collect()] == expected
    assert {"rack-missing", "spread-even", "dead-replica", "offline"} <= {
        row["rule"] for row in expected
    }


@settings(max_examples=10)
@given(
    st.lists(st.sampled_from([None, "/a/1", "/a/2", "/b/1"]), min_size=1, max_size=5),
    st.lists(
        st.lists(st.integers(1, 6), max_size=3, unique=True).map(tuple), min_size=1, max_size=6
    ),
)
def test_they_are_the_findings_of_core_for_any_cluster(spark, racks, lists):
    from rackwise.pipeline.audit.findings import audit_fleet, findings

    made = cluster(dict(enumerate(racks, start=1)), {"t": lists})
    found = findings(spark, audit_fleet(fleet_of({"demo.json": made})))
    assert [row.asDict() for row in found.collect()] == [
        {"cluster": "demo", **finding.as_dict()} for finding in audit(made)
    ]


def test_every_rule_is_checked_or_listed_as_not_checked():
    from rackwise.pipeline.audit.findings import audit_fleet

    (one,) = audit_fleet(fleet_of({"demo.json": cluster()}))
    fair = {"replica-balance", "leader-balance", "topic-spread"}
    assert fair <= set(one.findings.not_checked) <= set(RULES)


def test_a_policy_that_names_an_unknown_broker_is_rejected():
    from rackwise.pipeline.audit.findings import audit_fleet

    policy = Policy(brokers=BrokerPolicy(drain=(99,)))
    with pytest.raises(InvalidPolicy, match="99"):
        audit_fleet(fleet_of({"demo.json": cluster()}), policy)


def test_no_finding_is_an_empty_table(spark):
    from rackwise.pipeline.audit.findings import findings

    assert findings(spark, []).collect() == []
