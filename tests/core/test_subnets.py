"""Subnet tables: parsed strictly, cut into few length classes, the longest prefix wins."""

import re
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidSubnets
from rackwise.core.racks import Rack
from rackwise.core.subnets import (
    Subnet,
    buckets_of,
    cut,
    ipv4,
    length_classes,
    parse_subnets,
    rack_of,
)

NESTED = "cidr,rack\n10.0.0.0/16,/eu/a\n10.0.5.0/24,/eu/b\n10.0.5.16/28,/eu/c\n"


def subnet(cidr, rack):
    return Subnet(network=ip_network(cidr), rack=Rack(rack), where=f"{cidr} row")


class TestAddresses:
    @pytest.mark.parametrize(
        ("text", "number"),
        [("10.0.0.1", 167772161), ("0.0.0.1", 1), ("255.255.255.255", 2**32 - 1)],
    )
    def test_four_octets_are_a_number(self, text, number):
        assert ipv4(text) == number

    @pytest.mark.parametrize(
        "text",
        [
            "10.0.0.256",
            "010.0.0.1",
            "10.0.0",
            "10.0.0.1.2",
            "",
            "1.2.3.x",
            "1.2.3.\u0664",
            "1..2.3",
        ],
    )
    def test_anything_else_is_none(self, text):
        assert ipv4(text) is None

    def test_a_number_of_any_length_is_judged_not_computed(self):
        assert ipv4("9" * 10_000 + ".0.0.0") is None


class TestLookup:
    @pytest.mark.parametrize(
        ("address", "rack"),
        [("10.0.4.1", "/eu/a"), ("10.0.5.1", "/eu/b"), ("10.0.5.17", "/eu/c"), ("10.1.0.1", None)],
    )
    def test_the_longest_prefix_wins(self, address, rack):
        found = rack_of(address, length_classes(parse_subnets(NESTED)))
        assert (found and found.text) == rack

    def test_ipv6_is_looked_up_by_its_upper_half(self):
        classes = length_classes([subnet("2001:db8::/32", "/a"), subnet("2001:db8:1::/48", "/b")])
        assert rack_of("2001:db8:1::9", classes) == Rack("/b")
        assert rack_of("2001:db8:2::9", classes) == Rack("/a")
        assert rack_of("10.0.0.1", classes) is None

    @given(
        st.lists(
            st.tuples(st.integers(0, 2**32 - 1), st.integers(8, 20), st.sampled_from("abc")),
            min_size=1,
            max_size=8,
        ),
        st.integers(0, 2**32 - 1),
    )
    def test_equals_the_longest_network_that_holds_the_address(self, rows, number):
        table = {ip_network((n >> (32 - p) << (32 - p), p)): rack for n, p, rack in rows}
        classes = length_classes([subnet(str(n), rack) for n, rack in table.items()])
        address = ip_address(number)
        holding = [network for network in table if address in network]
        best = max(holding, key=lambda n: n.prefixlen, default=None)
        found = rack_of(str(address), classes)
        assert (found and found.text) == (best and table[best])


class TestClasses:
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
    def test_the_cut_has_the_fewest_buckets(self, networks, classes, buckets):
        assert cut(networks) == classes
        assert buckets_of(networks, cut(networks)) == buckets

    def test_a_table_of_too_many_buckets_is_refused(self):
        far_apart = ["8000::/1", "100::/22", "200::/43", "300::/64"]
        rows = [subnet(cidr, "/a") for cidr in far_apart]
        with pytest.raises(InvalidSubnets, match="at most 1048576 buckets is wanted") as refused:
            length_classes(rows)
        assert "leave out networks" in refused.value.hint


class TestBadTables:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("cidr,rack\n10.0.0.0/16,a\n10.0.0.0/16,b", "one rack for 10.0.0.0/16 is wanted; "),
            ("2001:db8::/80,a", "an IPv6 prefix of at most /64 is wanted"),
        ],
    )
    def test_a_contradiction_is_refused(self, text, message):
        with pytest.raises(InvalidSubnets, match=re.escape(message)) as refused:
            length_classes(parse_subnets(text, where="s.csv"))
        assert refused.value.hint

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "at least one network is wanted; s.csv has none"),
            ("cidr,rack\n", "at least one network is wanted; s.csv has none"),
            ("10.0.0.0/16", "a line cidr,rack is wanted; s.csv:1 has 1 cells"),
            ("10.0.0.1/16,a", "a network such as 10.0.5.0/24, without host bits, is wanted; "),
            ("10.0.0.1,a", "a network such as 10.0.5.0/24, without host bits, is wanted; "),
            ("10.0.0.0/16,/eu//a", "s.csv:1: rack path has an empty segment"),
            ("a@10.0.0.0/16<>oops", "rack@cidr is wanted; pair 2 of s.csv is 'oops'"),
        ],
    )
    def test_a_line_that_is_none_is_refused(self, text, message):
        with pytest.raises(InvalidSubnets, match=re.escape(message)) as refused:
            parse_subnets(text, where="s.csv")
        assert refused.value.hint
        assert "s.csv" in refused.value.where

    def test_the_same_network_twice_in_one_rack_is_one(self):
        rows = parse_subnets("10.0.0.0/16,a\n10.0.0.0/16,a\n")
        assert len(length_classes(rows)) == 1

    def test_comments_and_blank_lines_are_passed_over(self):
        assert len(parse_subnets("cidr,rack\n\n# zone a\n10.0.0.0/16,a\n")) == 1

    def test_pairs_on_one_line_are_a_table(self):
        rows = parse_subnets("use1-az1@10.0.0.0/19<>use1-az2@10.0.32.0/19")
        assert [(str(r.network), r.rack.text) for r in rows] == [
            ("10.0.0.0/19", "use1-az1"),
            ("10.0.32.0/19", "use1-az2"),
        ]
