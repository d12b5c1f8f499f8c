"""The cost of the reads of a group, and why it is not known."""

from datetime import date

import pytest

from assignments import group_of, replicas_in, tps
from rackwise.adapters.files import shipped_prices
from rackwise.core.assignors import Member, present_readers
from rackwise.core.assignors.members import Assignment
from rackwise.core.savings.read_cost import ReadCost, ReadPricing
from rackwise.core.savings.tariff import Tariff
from rackwise.core.traffic import prices_of

DAY = date(2026, 11, 21)
MB = 1_000_000
AWS = Tariff(prices_of(shipped_prices(), "aws"), ("zone",))
RACKS = replicas_in(t="a b ba")
GROUP = group_of("t", m="a", n="b")
ASSIGNMENT = Assignment.of({"m": tps("t-0 t-1"), "n": tps("t-2")})
RATES = dict.fromkeys(tps("t-0 t-1 t-2"), MB)
A_MONTH = 48_279_762_268
"""Nano-dollars for 1 MB/s across zones: 2,592,000 MB in GiB, at 0.01 dollars for each end."""


def cost(
    assignment=ASSIGNMENT, *, racks=RACKS, group=GROUP, rates=RATES, tariff=AWS, target="follower"
):
    pricing = ReadPricing(tariff=tariff, day=DAY, target=target)
    return pricing.cost(present_readers(assignment, racks), group, racks, rates)


def test_only_what_crosses_costs():
    assert cost() == ReadCost(nano=A_MONTH)


def test_the_leader_alone_is_read_without_a_selector():
    assert cost(target="leader").nano == A_MONTH
    swapped = Assignment.of({"m": tps("t-0 t-1 t-2"), "n": ()})
    assert cost(swapped, target="leader").nano == pytest.approx(2 * A_MONTH, abs=2)
    assert cost(swapped, target="nearest").nano == A_MONTH


def test_equally_likely_readers_share_the_cost():
    pricing = ReadPricing(tariff=AWS, day=DAY, target="follower")
    readers = {tps("t-1")[0]: ("m", "n")}
    found = pricing.cost(readers, GROUP, RACKS, RATES)
    assert found.nano == pytest.approx(A_MONTH / 2, abs=2)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"rates": None}, "no traffic is known: give --weights CSV"),
        ({"tariff": None}, "no price is known: give --provider NAME"),
        ({"rates": {}}, "no rate is known of 3 partitions: add rows to --weights"),
        (
            {"group": GROUP | {"m": Member(topics=("t",))}},
            "no rack is known of 1 member: give --rack or --client-rack",
        ),
        (
            {"racks": {"t": [["a"], [None], []]}},
            "no rack is known of a broker that is read: set broker.rack",
        ),
        (
            {"tariff": Tariff([], ("zone",))},
            "no price is known of some reads: add rows to --prices",
        ),
    ],
)
def test_what_is_not_known_is_no_zero(given, reason):
    assert cost(**given) == ReadCost(reason=reason)


def test_a_rack_that_is_no_path():
    odd = {"m": Member(topics=("t",), rack="/a//"), "n": GROUP["n"]}
    found = cost(group=odd)
    assert found.nano is None
    assert "/a//" in found.reason


def test_a_difference_is_known_where_both_are():
    assert ReadCost(nano=5).minus(ReadCost(nano=7)) == ReadCost(nano=-2)
    assert ReadCost(nano=5).minus(ReadCost(reason="x")) == ReadCost(reason="x")
    assert ReadCost(reason="y").minus(ReadCost(nano=1)) == ReadCost(reason="y")
