"""Client racks that no broker has, and their likely correct form."""

from __future__ import annotations

import pytest

from readings import diagnosed, finding_places, group, healthy, selectors
from small_clusters import small_cluster


def test_a_zone_name_for_a_zone_id_is_the_clients_fault_alone():
    racks = {1: "use1-az1", 2: "use1-az2", 3: "use1-az3"}
    found = diagnosed(healthy(racks, groups=[]), client_racks=["us-east-1a"])
    (only,) = found
    assert (only.rule, only.place) == ("reading-client-rack", "client rack us-east-1a")
    assert "us-east-1a is aws-zone-name" in only.hint
    assert "use1-az1 is aws-zone-id" in only.hint
    assert "describe-availability-zones" in only.hint


def test_a_rack_that_a_group_and_the_caller_name_is_reported_of_the_group_alone():
    found = diagnosed(healthy(groups=[group("aBc")]), client_racks=["B"])
    assert finding_places(found) == ["reading-client-rack at group billing, client rack B"]


@pytest.mark.parametrize(
    ("rack", "brokers", "hint"),
    [
        (" b", ["a", "b"], 'racks are compared with their blanks: write "b"'),
        ("b", ["a", "b "], 'racks are compared with their blanks: write "b "'),
        ("USE1-AZ1", ["use1-az1"], 'racks are compared with their case: write "use1-az1"'),
        ("a", ["/eu/a", "/us/a", "/us/b"], 'with all their levels: write "/eu/a" or "/us/a"'),
        ("/eu", ["/eu/a"], 'with all their levels: write "/eu/a"'),
        ("/eu/a/r7", ["/eu/a"], 'with all their levels: write "/eu/a"'),
        ("1", ["eastus-1"], "1 is number, racks of brokers are of another kind: eastus-1 is azure"),
        ("d", ["a", "b", "c", "e"], "set client.rack to one of the brokers' racks: a, b, c and 1"),
    ],
)
def test_the_hint_says_what_a_client_rack_should_be(rack, brokers, hint):
    racks = dict(enumerate(brokers, start=1))
    cluster = small_cluster(racks, {"t-0": [1]}, configs=selectors(dict.fromkeys(racks)))
    found = diagnosed(cluster, client_racks=[rack])
    assert hint in next(each.hint for each in found if each.rule == "reading-client-rack")
