"""Hypothetical clusters: racks and brokers lost, added or moved; the blast radius agrees."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rackwise.core.audit import audit
from rackwise.core.blast import blast_radius
from rackwise.core.errors import InvalidConfig, InvalidRack
from rackwise.core.model import Broker
from rackwise.core.planning.model import SetReplication
from rackwise.core.planning.what_if import (
    AddBroker,
    LoseBroker,
    LoseRack,
    MoveBroker,
    what_if,
    what_if_policy,
)
from rackwise.core.policy import Policy, TopicBlock
from rackwise.core.racks import Rack
from small_clusters import small_cluster

RACKS = {1: "/e/a", 2: "/e/a", 3: "/e/b", 4: "/w/a"}
LISTS = {"t-0": [1, 3, 4], "t-1": [1], "t-2": [2, 4]}


def cluster(**options):
    return small_cluster(RACKS, LISTS, **options)


def row(cluster, name):
    table = cluster.partitions
    return next(table[i] for i in range(len(table)) if table.name(i) == name)


def test_next_in_sync_replica_leads_after_a_broker_is_lost():
    lost = what_if(cluster(isr={"t-0": [4, 1]}), LoseBroker(1))
    assert [b.id for b in lost.brokers if not b.is_live] == [1]
    assert (row(lost, "t-0").leader, row(lost, "t-0").isr) == (4, (4,))
    assert row(lost, "t-0").replicas == (1, 3, 4)
    assert (row(lost, "t-1").leader, row(lost, "t-1").isr) == (None, (1,))
    assert row(lost, "t-2") == row(cluster(), "t-2")


def test_only_the_source_changes_without_changes():
    real = cluster()
    assert what_if(real) == replace(real, source="suppose")
    assert real.source == "kafka"


def test_rack_at_any_level_can_be_lost():
    assert [b.id for b in what_if(cluster(), LoseRack("/e")).brokers if b.is_live] == [4]
    assert [b.id for b in what_if(cluster(), LoseRack("/e/a")).brokers if b.is_live] == [3, 4]


def test_lost_broker_is_fenced_if_fencing_is_known():
    real = cluster()
    fenced = replace(real, brokers=tuple(replace(b, is_fenced=False) for b in real.brokers))
    assert [b.is_fenced for b in what_if(fenced, LoseBroker(1)).brokers] == [True, *[False] * 3]
    assert [b.is_fenced for b in what_if(real, LoseBroker(1)).brokers] == [None] * 4


def test_partition_without_leader_stays_without():
    lost = what_if(cluster(leaders={"t-0": None}), LoseBroker(4))
    assert row(lost, "t-0").leader is None


def test_add_and_move_a_broker():
    changed = what_if(cluster(), AddBroker(0, Rack("/w/b")), MoveBroker(2, Rack("/w/b")))
    assert [(b.id, str(b.rack)) for b in changed.brokers] == [
        (0, "/w/b"),
        (1, "/e/a"),
        (2, "/w/b"),
        (3, "/e/b"),
        (4, "/w/a"),
    ]
    assert changed.brokers[0] == Broker(id=0, rack=Rack("/w/b"))
    assert changed.partitions == cluster().partitions
    assert what_if(cluster(), MoveBroker(4, None)).brokers[3].rack is None


def test_changes_apply_in_order():
    late = what_if(cluster(), AddBroker(9, Rack("/n/a")), LoseRack("/n"))
    assert [b.id for b in late.brokers if not b.is_live] == [9]
    with pytest.raises(InvalidConfig, match='expected a rack of the cluster, got "/n"'):
        what_if(cluster(), LoseRack("/n"), AddBroker(9, Rack("/n/a")))


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (LoseRack("/x"), "expected a rack of the cluster", "racks: /e, /w, /e/a, /e/b, /w/a"),
        (LoseBroker(7), "expected a broker of the cluster, got 7", "brokers: 1, 2, 3, 4"),
        (
            MoveBroker(7, Rack("/e/a")),
            "expected a broker of the cluster, got 7",
            "brokers: 1, 2, 3, 4",
        ),
        (AddBroker(3), "got 3, which holds 1 replica", "use another id, or move"),
    ],
)
def test_impossible_changes_are_rejected(change, message, hint):
    with pytest.raises(InvalidConfig, match=message) as caught:
        what_if(cluster(), change)
    assert caught.value.hint.startswith(hint)


def test_existing_broker_cannot_be_added():
    idle = what_if(cluster(), AddBroker(9, Rack("/e/a")))
    with pytest.raises(InvalidConfig, match="got 9, which exists already"):
        what_if(idle, AddBroker(9, Rack("/e/a")))


def test_id_with_replicas_cannot_be_added():
    real = cluster()
    unlisted = replace(real, brokers=real.brokers[:3])
    with pytest.raises(InvalidConfig, match="got 4, which holds 2 replicas"):
        what_if(unlisted, AddBroker(4, Rack("/w/a")))


def test_cluster_without_racks_or_brokers():
    bare = small_cluster({1: None}, {})
    with pytest.raises(InvalidConfig) as caught:
        what_if(bare, LoseRack("/a"))
    assert caught.value.hint == "racks: none"
    with pytest.raises(InvalidConfig) as caught:
        what_if(small_cluster({}, {}), LoseBroker(1))
    assert caught.value.hint == "brokers: none"


def test_paths_mixed_with_names_are_rejected():
    for change in (AddBroker(9, Rack("plain")), MoveBroker(1, Rack("/a//b"))):
        with pytest.raises(InvalidRack):
            what_if(cluster(), change)


def test_replication_changes_the_policy():
    wanted = SetReplication((("t", 3), ("u*", 1)))
    had = Policy(topics=(TopicBlock(match=("*",), replication=2),))
    changed = what_if_policy(had, LoseBroker(1), wanted)
    assert [changed.rules_of(topic, ()).replication for topic in ("t", "u1", "v")] == [3, 1, 2]
    assert what_if(cluster(), wanted).partitions == cluster().partitions
    assert what_if_policy(had, LoseBroker(1)) == had


@st.composite
def clusters(draw):
    ids = sorted(RACKS)
    lists = {
        f"t-{number}": draw(st.permutations(ids))[: draw(st.integers(1, 4))] for number in range(3)
    }
    isr = {name: draw(st.lists(st.sampled_from(row), unique=True)) for name, row in lists.items()}
    leaders = {name: draw(st.sampled_from([*row, None])) for name, row in isr.items()}
    dead = draw(st.lists(st.sampled_from(ids), max_size=1))
    leaders = {name: None if led in dead else led for name, led in leaders.items()}
    return small_cluster(RACKS, lists, dead=dead, isr=isr, leaders=leaders, min_isr=2)


@given(clusters(), st.sampled_from(["/e", "/w", "/e/a", "/e/b", "/w/a"]))
def test_lost_rack_matches_the_blast_radius(real, rack):
    loss = next(loss for loss in blast_radius(real) if loss.rack == rack)
    lost = what_if(real, LoseRack(rack))
    led = real.partitions.leader >= 0
    gone = np.flatnonzero(led & (lost.partitions.leader < 0))
    assert [real.partitions.name(r) for r in gone] == [f"{t}-{p}" for t, p in loss.offline]
    before = {f.place for f in audit(real, rules=("offline",)).by_rule.get("offline", ())}
    found = audit(lost, rules=("offline", "under-min-isr")).by_rule
    after = {f.place for f in found.get("offline", ())}
    assert after - before == {f"{t}-{p}" for t, p in loss.offline}
    under = {f.place for f in found.get("under-min-isr", ())}
    assert {f"{t}-{p}" for t, p in loss.under_min_isr} == {
        place for place in under if row(real, place).leader is not None
    }


@given(clusters(), st.permutations([1, 2, 3]))
def test_order_of_lost_brokers_does_not_change_in_sync_replicas(real, order):
    assume(real.brokers[3].is_live)
    alone = what_if(real, *map(LoseBroker, order))
    assert [b.is_live for b in alone.brokers[:3]] == [False] * 3
    survivors = [set(alone.partitions.isr.row(i)) & {4} for i in range(len(alone.partitions))]
    assert survivors == [set(real.partitions.isr.row(i)) & {4} for i in range(len(survivors))]
