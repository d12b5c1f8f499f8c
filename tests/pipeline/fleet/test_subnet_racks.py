"""Racks of addresses by subnet: the lookup on Spark equals a search through all networks."""

from __future__ import annotations

from ipaddress import ip_network
from random import Random

import pyarrow as pa
import pytest

from rackwise.core.racks import Rack
from rackwise.core.subnets import Subnet, length_classes, parse_subnets, rack_of

pytestmark = pytest.mark.spark

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


def looked_up(spark, texts, subnets, **more):
    from rackwise.pipeline.fleet.subnet_racks import subnet_buckets, with_rack

    frame = spark.createDataFrame([(text,) for text in texts], "address string")
    return with_rack(frame, "address", subnet_buckets(subnets, **more), into="rack")


@pytest.mark.connect
def test_the_longest_prefix_wins_and_no_row_is_lost(spark):
    rows = looked_up(spark, LOOKUPS, NESTED).collect()
    assert {row.address: row.rack for row in rows} == LOOKUPS
    assert rows[0].asDict().keys() == {"address", "rack"}


def test_given_codes_are_used(spark):
    codes = {"/eu/a": 12, "/eu/b": 5, "/eu/c": 7}
    assert looked_up(spark, ["10.0.5.17"], NESTED, codes=codes).collect()[0].rack == 7


def test_without_subnets_no_rack_is_known(spark):
    assert looked_up(spark, ["10.0.5.17"], ()).collect()[0].rack == 0


def test_each_length_class_is_one_broadcast_join_of_integers(spark, capsys):
    looked_up(spark, ["10.0.5.17"], NESTED).explain()
    plan = capsys.readouterr().out
    assert plan.count("BroadcastHashJoin") == 3
    assert plan.count("LeftOuter, BuildRight") == 3
    assert plan.count("List(input[0, bigint") == 3
    assert not {"NestedLoop", "SortMerge", "Python"} & set(plan.replace("(", " ").split())


def test_both_families_share_the_joins(spark, capsys):
    six = parse_subnets(
        "10.0.0.0/16,a\n2001:db8::/32,b\n2001:db8:0:42::/64,c\nfd00::/8,d\nfe80::/10,e\n::/3,f"
    )
    frame = looked_up(spark, ["10.0.0.1", "::1"], six)
    frame.explain()
    assert capsys.readouterr().out.count("BroadcastHashJoin") == 3
    assert [row.rack for row in frame.collect()] == [1, 6]


def test_arrays_find_both_families_and_networks_far_apart():
    from rackwise.pipeline.columns.addresses import AddressReader
    from rackwise.pipeline.fleet.subnet_racks import RackLookup, subnet_buckets

    table = "2001:db8::/64,a\nfd00::/64,b\n10.0.0.0/24,c\n10.0.1.0/24,d"
    texts = ["2001:db8::1", "fd00::1", "10.0.0.9", "10.0.1.9", "10.0.2.9", "fd00:0:0:1::1", None]
    lookup = RackLookup(subnet_buckets(parse_subnets(table)))
    reader = AddressReader()
    codes = reader.codes(pa.array(texts))
    found = lookup.find(reader.ip[codes], reader.prefix[codes])
    assert found.tolist() == [1, 2, 3, 4, 0, 0, 0]


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


def test_the_lookup_equals_a_search_through_all_networks(spark):
    from rackwise.pipeline.columns.addresses import AddressReader
    from rackwise.pipeline.fleet.subnet_racks import RackLookup, subnet_buckets

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
    rows = looked_up(spark, texts, subnets, codes=codes).collect()
    found = [codes[rack.text] if rack else 0 for rack in wanted]
    assert [(row.address, row.rack) for row in rows] == list(zip(texts, found, strict=True))
    lookup = RackLookup(subnet_buckets(subnets, codes))
    reader = AddressReader()
    read = reader.codes(pa.array(texts))
    assert lookup.find(reader.ip[read], reader.prefix[read]).tolist() == found
