"""Racks of addresses by subnet: the lookup equals a search through all networks."""

from __future__ import annotations

from ipaddress import ip_network
from random import Random

import pyarrow as pa

from rackwise.core.racks import Rack
from rackwise.core.subnets import Subnet, length_classes, parse_subnets, rack_of
from rackwise.pipeline.columns.addresses import AddressReader
from rackwise.pipeline.fleet.subnet_racks import RackLookup, subnet_buckets

NESTED = parse_subnets("10.0.0.0/16,/eu/a\n10.0.5.0/24,/eu/b\n10.0.5.16/28,/eu/c")
LOOKUPS = {
    "10.0.4.1": 1,
    "10.0.5.1": 2,
    "10.0.5.17": 3,
    "10.1.0.1": 0,
    "10.0.0.256": 0,
    "010.0.0.1": 0,
    None: 0,
}


def looked_up(texts, subnets, **more):
    """The rack code of each address text."""
    lookup, reader = RackLookup(subnet_buckets(subnets, **more)), AddressReader()
    read = reader.codes(pa.array(texts, type=pa.string()))
    return lookup.find(reader.ip[read], reader.prefix[read]).tolist()


def test_the_longest_prefix_wins_and_no_row_is_lost():
    assert looked_up(LOOKUPS, NESTED) == list(LOOKUPS.values())


def test_given_codes_are_used():
    codes = {"/eu/a": 12, "/eu/b": 5, "/eu/c": 7}
    assert looked_up(["10.0.5.17"], NESTED, codes=codes) == [7]


def test_without_subnets_no_rack_is_known():
    assert looked_up(["10.0.5.17", "2001:db8::1"], ()) == [0, 0]


def test_an_address_is_looked_up_in_networks_of_its_own_family():
    six = parse_subnets(
        "10.0.0.0/16,a\n2001:db8::/32,b\n2001:db8:0:42::/64,c\nfd00::/8,d\nfe80::/10,e\n::/3,f"
    )
    texts = ["10.0.0.1", "::1", "2001:db8:0:42::1", "2001:db8:0:43::1", "fd00::1", "8000::1"]
    assert looked_up(texts, six) == [1, 6, 3, 2, 4, 0]


def test_networks_far_apart_are_found():
    table = "2001:db8::/64,a\nfd00::/64,b\n10.0.0.0/24,c\n10.0.1.0/24,d"
    texts = ["2001:db8::1", "fd00::1", "10.0.0.9", "10.0.1.9", "10.0.2.9", "fd00:0:0:1::1", None]
    assert looked_up(texts, parse_subnets(table)) == [1, 2, 3, 4, 0, 0, 0]


def drawn_table(rng):
    """Networks of both families in three nested regions, so that they often overlap."""
    nets = {}
    for _ in range(60):
        if rng.random() < 0.6:
            address, length = (
                (10 << 24) | rng.getrandbits(14) << 4,
                rng.choice([12, 20, 22, 26, 30]),
            )
            text = f"{(address >> (32 - length) << (32 - length))}"
            network = ip_network((int(text), length))
        else:
            length = rng.choice([40, 52, 56, 63, 64])
            number = (0x20010DB8 << 96) | rng.getrandbits(20) << 60
            network = ip_network((number >> (128 - length) << (128 - length), length))
        nets[network] = Rack(f"/r/{rng.randrange(5)}")
    return tuple(Subnet(network=network, rack=rack) for network, rack in nets.items())


def test_the_lookup_equals_a_search_through_all_networks():
    rng = Random(11)
    subnets = drawn_table(rng)
    texts = [
        str(net.network[rng.randrange(min(net.network.num_addresses, 2**20))])
        for net in subnets
        for _ in range(20)
    ]
    texts += ["192.168.0.1", "2001:db9::1", "8000::1"]
    classes = length_classes(subnets)
    codes = {f"/r/{n}": n + 1 for n in range(5)}
    wanted = [rack_of(text, classes) for text in texts]
    found = looked_up(texts, subnets, codes=codes)
    assert found == [codes[rack.text] if rack else 0 for rack in wanted]
