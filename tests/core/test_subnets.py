"""Subnet tables: valid and invalid rows, length classes, and lookups."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidSubnets
from rackwise.core.racks import Rack
from rackwise.core.subnets import (
    Subnet,
    buckets_of,
    ipv4,
    length_classes,
    parse_subnets,
    prefix_classes,
    rack_of,
)

NESTED = "10.0.0.0/16,/eu/a\n10.0.5.0/24,/eu/b\n10.0.5.16/28,/eu/c"


@pytest.mark.parametrize(
    ("networks", "classes", "buckets"),
    [
        ({16: 1, 28: 1}, (16, 28), 2),
        ({20: 30, 24: 90}, (20, 24), 120),
        ({24: 4}, (24,), 4),
        ({8: 1, 16: 1, 24: 1, 32: 1}, (8, 16, 32), 259),
        ({}, (), 0),
    ],
)
def test_length_classes_have_the_fewest_buckets(networks, classes, buckets):
    assert prefix_classes(networks) == classes
    assert buckets_of(networks, classes) == buckets


@pytest.mark.parametrize(
    ("address", "rack"),
    [
        ("10.0.4.1", "/eu/a"),
        ("10.0.5.1", "/eu/b"),
        ("10.0.5.17", "/eu/c"),
        ("10.1.0.1", None),
        ("2001:db8::1", None),
    ],
)
def test_longest_prefix_decides(address, rack):
    found = rack_of(address, length_classes(parse_subnets(NESTED)))
    assert (found and found.text) == rack


@pytest.mark.parametrize("text", ["10.0.0.256", "010.0.0.1", "x"])
def test_text_that_is_no_address_is_rejected(text):
    with pytest.raises(ValueError, match="does not appear to be"):
        rack_of(text, ())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10.0.0.1", 167772161),
        ("255.255.255.255", 2**32 - 1),
        ("10.0.0.256", None),
        ("010.0.0.1", None),
        ("1.2.3", None),
        ("1.2.3.x", None),
        ("1.2.3.\u0661", None),
        ("1.2.3.\u00b2", None),
        ("1.2..3", None),
    ],
)
def test_ipv4_needs_four_octets_without_leading_zeros(text, number):
    assert ipv4(text) == number


def test_families_have_separate_classes_finest_first():
    classes = length_classes(parse_subnets(NESTED + "\n2001:db8::/32,x\n2001:db8:0:42::/64,y"))
    assert [(one.version, one.length, one.shift) for one in classes] == [
        (4, 28, 4),
        (4, 24, 8),
        (4, 16, 16),
        (6, 64, 0),
        (6, 32, 32),
    ]
    assert rack_of("2001:db8:0:42::9", classes) == Rack("y")
    assert rack_of("2001:db8:1::", classes) == Rack("x")


def test_csv_table_with_or_without_header_and_comments():
    with_header = 'cidr,rack\n# zones\n\n"10.0.0.0/16" , /eu/a\n10.0.5.0/24,/eu/b\n'
    rows = parse_subnets(with_header, where="s.csv")
    assert [(str(row.network), row.rack.text, row.where) for row in rows] == [
        ("10.0.0.0/16", "/eu/a", "s.csv:4"),
        ("10.0.5.0/24", "/eu/b", "s.csv:5"),
    ]


@pytest.mark.parametrize(
    "above", ["# contact: net@example.com\n", "\n", "  \n# a@b\n\n"], ids=["mail", "blank", "both"]
)
@pytest.mark.parametrize("header", ["cidr,rack\n", "CIDR, Rack\n# more\n", ""])
def test_comments_and_blank_lines_may_come_before_all(above, header):
    text = f"{above}{header}10.0.5.0/24,/eu/b\n"
    (row,) = parse_subnets(text, where="s.csv")
    place = f"s.csv:{text.count(chr(10))}"
    assert (str(row.network), row.rack.text, row.where) == ("10.0.5.0/24", "/eu/b", place)


def test_table_as_pairs_of_rack_and_cidr():
    rows = parse_subnets("use1-az1@10.0.0.0/19<>use1-az2@10.0.32.0/19 \n", where="s.txt")
    assert [(str(row.network), row.rack.text, row.where) for row in rows] == [
        ("10.0.0.0/19", "use1-az1", "s.txt pair 1"),
        ("10.0.32.0/19", "use1-az2", "s.txt pair 2"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected at least one network in s, got none"),
        ("cidr,rack\n", "expected at least one network in s, got none"),
        ("10.0.0.0/16\n", "invalid line s:1: expected cidr,rack, got 1 cells"),
        ("10.0.0.0/16,a,b\n", "invalid line s:1: expected cidr,rack, got 3 cells"),
        (
            "10.0.0.0/16,a\n10.1.0.0/16," + "a" * 131_073,
            "invalid line s:2: expected CSV, got a syntax error: field larger than field limit",
        ),
        (
            "10.0.0.1/16,a\n",
            "invalid network at s:1: expected one such as 10.0.5.0/24, without host bits, got ",
        ),
        (
            "10.0.0.0,a\n",
            "invalid network at s:1: expected one such as 10.0.5.0/24, without host bits, got ",
        ),
        (
            "here,a\n",
            "invalid network at s:1: expected one such as 10.0.5.0/24, without host bits, got ",
        ),
        (
            "fe80::/64,/a\nfe80::%eth0/64,/b\n",
            "invalid network at s:2: expected one such as 10.0.5.0/24, without host bits, got ",
        ),
        ("cidr,rack\ncidr,rack\n", "invalid network at s:2: expected one such as 10.0.5.0/24"),
        ("10.0.0.0/16,/a//b\n", 's:1: rack path has an empty segment: "/a//b"'),
        ("a@10.0.0.0/16<>nothing", "invalid pair 2 of s: expected rack@cidr, got 'nothing'"),
    ],
)
def test_error_names_the_invalid_line(text, message):
    with pytest.raises(InvalidSubnets) as caught:
        parse_subnets(text, where="s")
    assert caught.value.message.startswith(message)
    assert caught.value.hint
    assert caught.value.where


def test_network_with_two_racks_is_rejected_with_both_lines():
    twice = parse_subnets("10.0.0.0/16,a\n10.0.0.0/16,a\n10.0.0.0/16,b", where="s")
    with pytest.raises(InvalidSubnets) as caught:
        length_classes(twice)
    assert caught.value.message == ("expected one rack for 10.0.0.0/16, got a in s:1 and b in s:3")
    assert caught.value.hint == "delete s:1 or s:3"


def test_ipv6_prefixes_longer_than_64_are_rejected():
    with pytest.raises(
        InvalidSubnets, match="expected an IPv6 prefix of at most /64, got 2001:db8::/65"
    ):
        length_classes(parse_subnets("2001:db8::/65,a"))


def test_too_many_buckets_are_rejected():
    table = "2000::/4,a\n2001:d00::/24,b\n2001:db8:10::/44,c\n2001:db8:10:1::/64,d"
    with pytest.raises(InvalidSubnets) as caught:
        length_classes(parse_subnets(table, where="s"))
    assert (caught.value.wanted, caught.value.had) == (2**20, 2**20 + 3)
    assert caught.value.message == (
        "expected a table of at most 1048576 buckets, got 1048579 for 4 networks of /4 to /64"
    )
    assert caught.value.where == "s:1"


def networks(draw):
    """A network of one of two nested regions, so that networks often overlap."""
    length = draw(st.integers(22, 32))
    number = (10 << 24) | draw(st.integers(0, 2**12 - 1))
    if draw(st.booleans()):
        return ip_network((number >> (32 - length) << (32 - length), length))
    length = draw(st.integers(54, 64))
    number = (0x20010DB8 << 32 | draw(st.integers(0, 2**12 - 1))) << 64
    return ip_network((number >> (128 - length) << (128 - length), length))


@st.composite
def tables(draw):
    racks = st.sampled_from([Rack("a"), Rack("b"), Rack("c")])
    found = {networks(draw): draw(racks) for _ in range(draw(st.integers(0, 12)))}
    return tuple(Subnet(network=network, rack=rack) for network, rack in found.items())


@given(tables(), st.data())
def test_lookup_equals_a_search_through_all_networks(subnets, data):
    classes = length_classes(subnets)
    last = data.draw(st.integers(0, 2**12 - 1))
    for address in (
        ip_address((10 << 24) | last),
        ip_address((0x20010DB8 << 32 | last) << 64 | last),
    ):
        holding = [s for s in subnets if address in s.network]
        longest = max(holding, key=lambda s: s.network.prefixlen, default=None)
        assert rack_of(str(address), classes) == (longest and longest.rack)
    assert all(len({one.length for one in classes if one.version == v}) <= 3 for v in (4, 6))
