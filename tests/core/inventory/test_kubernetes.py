"""Which pods of a listing get a row, and which are named instead."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rackwise.core.inventory.kubernetes import (
    KubernetesListing,
    KubernetesNode,
    KubernetesPod,
    kubernetes_rows,
)
from rackwise.core.inventory.zones import ZONE_LABEL

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NODE = KubernetesNode(name="n1", labels={ZONE_LABEL: "a"}, addresses=("10.0.0.1",), created=BEGAN)


def found(**changed):
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
    pod = KubernetesPod(**(fields | changed))
    return kubernetes_rows(KubernetesListing(nodes=[NODE], pods=[pod], cron_jobs={}))


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
