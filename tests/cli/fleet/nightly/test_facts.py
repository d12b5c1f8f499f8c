"""What a night takes from the audit of a cluster: unsafe topics, and rules that nobody checked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise.adapters.files import write_snapshot
from rackwise.cli.fleet.nightly.facts import cluster_facts
from rackwise.cli.shell import Shell
from rackwise.core.nightly.commands import NightLayout
from rackwise.core.nightly.night import Night, StepRun
from rackwise.core.notices.changes import ClusterMemory, changes
from refusals import called
from small_clusters import small_cluster

DAY = "2026-11-26"
RACKS = {1: "/a", 2: "/b", 3: "/a"}
LISTS = {"orders-0": [1, 3], "clicks-0": [3, 1], "logs-0": [1, 2]}
AGAIN = (
    "shop: it is known again whether all topics are safe, for the first time since the night of "
    "2026-11-26; 1 topic is unsafe"
)
LOST = (
    "shop: since the night of 2026-11-26 it is not known whether all topics are safe: 4 rules were "
    "not checked (no broker has a rack); set broker.rack on each broker, then run "
    "rackwise audit --cluster shop"
)


@pytest.fixture
def night_of(tmp_path):
    """Audit a cluster as a night does; give the facts of that night."""
    layout = NightLayout(root=str(tmp_path))

    def facts(value):
        write_snapshot(value, tmp_path / "s.json")
        code, out, err = called("--json", "audit", "--snapshot", tmp_path / "s.json")
        assert code in {0, 2}, err
        place = tmp_path / "audits" / "shop" / f"{DAY}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(out)
        run = StepRun(
            step="audit",
            clusters=("shop",),
            command=("rackwise", "audit"),
            exit=code,
            reason=None,
            began=f"{DAY}T00:00:00Z",
            took_ms=1,
            start=1,
        )
        return cluster_facts(Shell(), layout, Night(day=DAY).with_run(run), "shop", ())

    return facts


def told(memory, facts):
    notices, kept = changes("shop", memory, facts, day=DAY, limit_percent=20)
    return [(each.kind, each.text) for each in notices], kept


def test_topics_of_a_cluster_that_lost_its_racks_are_not_reported_as_safe(night_of):
    first, memory = told(ClusterMemory(), night_of(small_cluster(RACKS, LISTS)))
    assert first == [("topic-unsafe", "shop: 2 topics became unsafe: clicks, orders")]
    facts = night_of(small_cluster(dict.fromkeys(RACKS), LISTS))
    assert facts.unsafe == ()
    assert facts.not_checked["spread-even"] == "no broker has a rack"
    second, memory = told(memory, facts)
    assert second == [("safety-unknown", LOST)]
    assert memory.unsafe == ("clicks", "orders")
    repaired = LISTS | {"orders-0": [1, 2]}
    third, memory = told(memory, night_of(small_cluster(RACKS, repaired)))
    assert third == [
        ("topic-safe", "shop: 1 topic is no longer unsafe: orders; 1 topic is unsafe"),
        ("safety-known", AGAIN),
    ]


def test_one_broker_that_lost_its_rack_makes_no_topic_safe(night_of):
    _, memory = told(ClusterMemory(), night_of(small_cluster(RACKS, LISTS)))
    ((kind, text),), _ = told(memory, night_of(small_cluster({**RACKS, 3: None}, LISTS)))
    assert kind == "safety-unknown"
    assert "(no rack is known of 1 live broker); set broker.rack on each broker" in text


def test_a_rule_that_lacks_no_racks_is_told_without_the_advice_to_set_them(night_of):
    facts = night_of(small_cluster(RACKS, {"logs-0": [1, 2]}, min_isr=None))
    assert [*facts.not_checked] == ["under-min-isr"]
    ((kind, text),), _ = told(ClusterMemory(), facts)
    assert kind == "safety-unknown"
    assert text.endswith(
        "1 rule was not checked (min.insync.replicas of 1 of 1 topic is not known); "
        "run rackwise audit --cluster shop"
    )


def test_a_partition_that_goes_offline_in_such_a_night_is_reported(night_of):
    _, memory = told(ClusterMemory(), night_of(small_cluster(RACKS, LISTS)))
    offline = small_cluster(dict.fromkeys(RACKS), LISTS, leaders={"logs-0": None})
    notices, memory = told(memory, night_of(offline))
    assert notices == [
        ("topic-unsafe", "shop: 1 topic became unsafe: logs"),
        ("safety-unknown", LOST),
    ]
    assert memory.unsafe == ("clicks", "logs", "orders")


def test_rules_of_other_severities_leave_nothing_open(night_of):
    facts = night_of(replace(small_cluster(RACKS, LISTS), cluster_id="other"))
    assert facts.not_checked == {}
