"""Which pods of a listing get a row, and which are named instead."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rackwise.core.inventory.kubernetes import (
    Controller,
    KubernetesListing,
    KubernetesNode,
    KubernetesPod,
    is_of_namespace,
    kubernetes_rows,
)
from rackwise.core.inventory.zones import ZONE_LABEL

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NODE = KubernetesNode(name="n1", labels={ZONE_LABEL: "a"}, addresses=("10.0.0.1",), created=BEGAN)


def pod_of(**changed):
    fields = {
        "namespace": "shop",
        "name": "cart",
        "node": "n1",
        "addresses": ("10.1.0.7",),
        "has_host_network": False,
        "controller": None,
        "template_hash": None,
        "phase": "Running",
        "start": BEGAN,
        "finished": None,
    }
    return KubernetesPod(**(fields | changed))


def found(*, cron_jobs=(), **changed):
    pods, jobs = [pod_of(**changed)], dict(cron_jobs)
    return kubernetes_rows(KubernetesListing(nodes=[NODE], pods=pods, cron_jobs=jobs))


def test_a_running_pod_has_the_rack_of_its_node():
    rows = found().rows
    assert [(each.address, str(each.rack), each.owner) for each in rows] == [
        ("10.0.0.1", "a", ""),
        ("10.1.0.7", "a", "shop/cart"),
    ]


@pytest.mark.parametrize(
    ("changed", "is_named"),
    [
        ({"phase": "Succeeded"}, True),
        ({"phase": "Succeeded", "addresses": ()}, False),
        ({"has_host_network": True}, False),
        ({"node": None}, True),
        ({"node": "n2"}, True),
    ],
)
def test_a_pod_without_a_row_is_named_where_it_has_an_address_or_will_get_one(changed, is_named):
    rows = found(**changed)
    assert [each.address for each in rows.rows] == ["10.0.0.1"]
    assert bool(rows.notes) is is_named


@pytest.mark.parametrize(
    ("kind", "name", "template_hash", "owner"),
    [
        ("ReplicaSet", "cart-7d9f", "7d9f", "shop/cart"),
        ("ReplicaSet", "cart-7d9f", None, "shop/cart-7d9f"),
        ("ReplicaSet", "cart-7d9f", "1234", "shop/cart-7d9f"),
        ("ReplicaSet", "-7d9f", "7d9f", "shop/-7d9f"),
        ("Job", "report-1", None, "shop/report"),
        ("Job", "report-2", None, "shop/report-2"),
        ("StatefulSet", "db-7d9f", "7d9f", "shop/db-7d9f"),
        ("Node", "n1", None, "shop/cart-x"),
    ],
)
def test_the_owner_of_a_pod_is_the_workload_that_controls_it(kind, name, template_hash, owner):
    rows = found(
        name="cart-x",
        controller=Controller(kind=kind, name=name),
        template_hash=template_hash,
        cron_jobs={("shop", "report-1"): "report", ("bank", "report-2"): "report"},
    ).rows
    assert rows[-1].owner == owner


def test_a_listing_of_a_namespace_has_its_pods_and_all_nodes():
    node, pod = found().rows
    assert [is_of_namespace(node, each) for each in ("shop", "bank")] == [True, True]
    assert [is_of_namespace(pod, each) for each in ("shop", "bank", "sho")] == [True, False, False]


def test_a_node_without_the_label_is_named_and_its_pods_have_no_row():
    bare = replace(NODE, name="n2\x1b", labels={ZONE_LABEL: ""})
    pods = [pod_of(), pod_of(name="pay", node=bare.name)]
    listing = KubernetesListing(nodes=[NODE, bare], pods=pods, cron_jobs={})
    rows = kubernetes_rows(listing)
    assert [each.where for each in rows.rows] == ["node n1", "pod shop/cart"]
    without_label, of_unknown_rack = rows.notes
    assert without_label == (
        r"1 node (n2\x1b) without the label topology.kubernetes.io/zone: their rack is not known, "
        "so they and their pods have no row; set the label, or name another with --label"
    )
    assert of_unknown_rack == "1 pod (shop/pay) on nodes of unknown rack: no row"


def test_another_label_gives_the_rack_if_asked():
    node = replace(NODE, labels={ZONE_LABEL: "a", "rack": "r7"})
    listing = KubernetesListing(nodes=[node], pods=[pod_of()], cron_jobs={})
    rows = kubernetes_rows(listing, label="rack").rows
    assert [str(each.rack) for each in rows] == ["r7", "r7"]
