"""Regions and zones of AWS: of usage types, and of racks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.billed.zones import (
    REGIONAL,
    REGIONS,
    AwsZone,
    Crossing,
    ZoneForm,
    crossing,
    is_region,
    region_of_usage,
    zone_level,
    zones_of_racks,
)

US = "us-east-1"
LEVELS = ("region", "zone", "row")


@pytest.mark.parametrize(
    ("usage_type", "column", "region"),
    [
        (REGIONAL, None, US),
        (REGIONAL, "", US),
        (REGIONAL, "eu-west-1", "eu-west-1"),
        (f"USE1-{REGIONAL}", None, US),
        (f"EU-{REGIONAL}", None, "eu-west-1"),
        (f"APS3-{REGIONAL}", None, "ap-south-1"),
        (f"EUC1-{REGIONAL}", US, "eu-central-1"),
        (f"XYZ9-{REGIONAL}", None, None),
        (f"XYZ9-{REGIONAL}", "xy-zonal-9", "xy-zonal-9"),
        (f"XYZ9-{REGIONAL}", "Mars (Olympus)", None),
    ],
)
def test_the_region_of_a_usage_type(usage_type, column, region):
    assert region_of_usage(usage_type, column) == region


def test_regions_have_the_form_of_a_region():
    assert all(map(is_region, REGIONS.values()))


@pytest.mark.parametrize(
    ("rack", "levels", "zone"),
    [
        ("use1-az1", ("zone",), (US, "use1-az1", ZoneForm.ID)),
        ("apne1-az4", ("zone",), ("ap-northeast-1", "apne1-az4", ZoneForm.ID)),
        ("usgw1-az2", ("zone",), ("us-gov-west-1", "usgw1-az2", ZoneForm.ID)),
        ("us-east-1a", ("zone",), (US, "us-east-1a", ZoneForm.NAME)),
        ("/us-east-1/use1-az1/r7", LEVELS, (US, "use1-az1", ZoneForm.ID)),
        ("/us-east-1/a/r7", LEVELS, (US, "/us-east-1/a", ZoneForm.PATH)),
        ("/us-east-1", LEVELS, None),
        ("us-east-1", ("zone",), None),
        ("/us-east-1/a", ("dc", "row"), None),
        ("xx1-az1", ("zone",), None),
        ("use1-azb", ("zone",), None),
        ("us-central1-a", ("zone",), None),
        ("/eu/a", ("region", "zone"), None),
        ("(unknown)", ("zone",), None),
        ("/eu//a", ("region", "zone"), None),
    ],
)
def test_the_zone_of_a_rack(rack, levels, zone):
    found = zones_of_racks([rack], levels).get(rack)
    assert found == (zone and AwsZone(region=zone[0], zone=zone[1], form=zone[2]))


def test_a_region_that_is_given_is_that_of_racks_without_one():
    racks = ["/eu/a", "/eu/b/r1", "/eu/b/r2", "use1-az1", "us-west-2", "/eu", "(unknown)"]
    found = zones_of_racks(racks, LEVELS, "eu-west-3")
    assert {rack: (zone.region, zone.zone) for rack, zone in found.items()} == {
        "/eu/a": ("eu-west-3", "/eu/a"),
        "/eu/b/r1": ("eu-west-3", "/eu/b"),
        "/eu/b/r2": ("eu-west-3", "/eu/b"),
        "use1-az1": (US, "use1-az1"),
    }
    assert zones_of_racks(["a", "b", "us-west-2"], ("zone",), US).keys() == {"a", "b"}
    assert zones_of_racks(["/eu/a", "/us/a"], ("region", "zone"), US) == {}
    assert zones_of_racks(["/eu/a"], ("dc", "row"), US) == {}


def test_an_end_that_is_not_known_has_no_zone_in_a_region_that_is_given():
    assert zones_of_racks(["a", "(unknown)"], ("zone",), US).keys() == {"a"}


def test_the_level_of_zones():
    assert [zone_level(names) for names in (LEVELS, ("az",), ("dc", "row"), ())] == [2, 1, 0, 0]


@pytest.mark.parametrize(
    ("one", "other", "region", "crosses"),
    [
        ("use1-az1", "use1-az2", US, Crossing.YES),
        ("use1-az1", "use1-az1", US, Crossing.NO),
        ("/us-east-1/use1-az1/r1", "/us-east-1/use1-az1/r2", US, Crossing.NO),
        ("use1-az1", "use2-az1", None, Crossing.NO),
        ("use1-az1", "us-east-1a", US, Crossing.MAYBE),
        ("use1-az1", "(unknown)", US, Crossing.MAYBE),
        ("rack", "use1-az1", US, Crossing.MAYBE),
        ("rack", "other", None, Crossing.MAYBE),
        ("rack", "rack", None, Crossing.NO),
        ("(unknown)", "(unknown)", None, Crossing.MAYBE),
    ],
)
def test_bytes_that_cross_zones(one, other, region, crosses):
    zones = zones_of_racks([one, other], ("region", "zone", "row"))
    assert crossing(one, other, zones) == (region, crosses)


RACKS = st.sampled_from(
    ["use1-az1", "use1-az2", "us-east-1a", "euw1-az1", "/us-east-1/b", "rack", "(unknown)"]
)


@given(RACKS, RACKS, st.none() | st.just(US))
def test_both_directions_are_equal(one, other, region):
    zones = zones_of_racks([one, other], ("region", "zone"), region)
    assert crossing(one, other, zones) == crossing(other, one, zones)
