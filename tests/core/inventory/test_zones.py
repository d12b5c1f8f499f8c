"""Names and ids of zones are converted by a table alone."""

from __future__ import annotations

import pytest

from rackwise.core.errors import InvalidAddresses
from rackwise.core.inventory.zones import ZonePair, ZoneTable

ZONES = ZoneTable(
    [
        ZonePair(name="us-east-1a", id="use1-az4", where="z.csv:2"),
        ZonePair(name="us-east-1b", id="use1-az6", where="z.csv:3"),
    ]
)


@pytest.mark.parametrize("zone", ["us-east-1a", "use1-az4"])
def test_either_text_gives_the_id_and_the_name(zone):
    assert ZONES.converted(zone, "id") == "use1-az4"
    assert ZONES.converted(zone, "name") == "us-east-1a"


@pytest.mark.parametrize("form", ["id", "name"])
def test_a_zone_that_the_table_lacks_is_an_error(form):
    with pytest.raises(InvalidAddresses, match=r"invalid zone us-east-1c: .* that it lacks"):
        ZONES.converted("us-east-1c", form)


@pytest.mark.parametrize(("name", "id_"), [("us-east-1a", "use1-az6"), ("us-east-1c", "use1-az4")])
def test_a_zone_with_two_partners_is_an_error(name, id_):
    pairs = [
        ZonePair(name="us-east-1a", id="use1-az4", where="z.csv:2"),
        ZonePair(name=name, id=id_, where="z.csv:3"),
    ]
    with pytest.raises(InvalidAddresses, match=r"in z.csv:2 and in z.csv:3"):
        ZoneTable(pairs)
