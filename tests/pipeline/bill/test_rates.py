"""Traffic modelled from rates."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

from billed_rows import rows_of
from rackwise.core.racks import Rack
from rackwise.core.traffic import RateRow, rates_of
from rackwise.pipeline.bill.coded_fleet import CodedFleet
from rackwise.pipeline.bill.cost import Pricing, price_traffic
from rackwise.pipeline.bill.rates import model_day, model_traffic, own_rack, unknown_topics
from rackwise.pipeline.bill.roll_ups import roll_up
from rackwise.pipeline.bill.traffic import merge_sources, traffic
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.snapshots import read_snapshots
from small_fleets import CENT, DAY, DAY_NUMBER, DEMO_READERS, cluster, group, parsed, price

MIB = 2**20
DAY_S = 86_400


def fleet_of(made, **more):
    return fleet_of_snapshots(read_snapshots(*parsed({"demo.json": made}))[0], **more)


def modelled(fleet, rows, rack_of=own_rack):
    """The flows of a day, with names of columns as attributes."""
    found = [*model_day(fleet, rates_of(rows), rack_of)]
    return [row for table in found for row in rows_of(table)]


def rate(topic, in_, group=None, out=None):
    return RateRow(
        cluster="demo", topic=topic, bytes_in_per_s=in_, client_group=group, bytes_out_per_s=out
    )


def crossing(rows):
    """Bytes per kind, and crossing bytes per kind."""
    total, cross = Counter(), Counter()
    for row in rows:
        far = row.peer_rack if row.kind == 2 else row.client_rack
        total[row.kind] += row.bytes
        cross[row.kind] += row.bytes if far != row.broker_rack else 0
    return total, cross


class TestEvenCase:
    """cross = P (1 - 1/R) + P (F - 1) + G P (1 - 1/R)."""

    def fleet(self):
        orders = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]
        return fleet_of(cluster(topics={"orders": orders}), groups=["g", "h"])

    rates = (
        rate("orders", 300 * MIB),
        rate("orders", None, "g", 300 * MIB),
        rate("orders", None, "h", 300 * MIB),
    )

    def test_bytes_per_second(self):
        total, cross = crossing(modelled(self.fleet(), self.rates))
        a_day = MIB * DAY_S
        assert total == {0: 300 * a_day, 1: 600 * a_day, 2: 600 * a_day}
        assert cross == {0: 200 * a_day, 1: 400 * a_day, 2: 600 * a_day}

    def test_thirty_days_cost_60750_dollars(self):
        fleet = self.fleet()
        coded = CodedFleet.of(fleet)
        days = [date(2026, 11, 1) + timedelta(days=n) for n in range(30)]
        facts = model_traffic(fleet, rates_of(self.rates), days)
        twice = [price(nano_usd_per_gb_out=2 * CENT, nano_usd_per_gb_in=0)]
        pricing = Pricing.of(fleet, coded, prices=twice, levels=("region", "zone"), days=days)
        gold = price_traffic(merge_sources(traffic(facts, coded)), pricing)
        by_kind = {row.kind: row.usd for row in rows_of(roll_up(gold, ("kind",)))}
        assert by_kind == {
            "produce": Decimal(10125),
            "replicate": Decimal(30375),
            "fetch": Decimal(20250),
        }


def test_members_read_in_their_racks():
    fleet = fleet_of(cluster(groups=[DEMO_READERS]))
    found = modelled(fleet, [rate("orders", None, "readers", 3)])
    assert {(row.partition, row.client_rack, row.bytes) for row in found} == {
        (0, fleet.codes.racks["/eu/b"], DAY_S),
        (1, fleet.codes.racks["/eu/a"], DAY_S),
        (2, fleet.codes.racks["/eu/c"], DAY_S),
    }


def test_a_partition_of_two_members_is_read_once():
    both = group("g", ("m", "/eu/a", None, [("orders", 0)]), ("n", "/eu/b", None, [("orders", 0)]))
    fleet = fleet_of(cluster(topics={"orders": [(1, 2)]}, groups=[both]))
    found = modelled(fleet, [rate("orders", None, "g", 5)])
    assert [(row.client_rack, row.bytes) for row in found] == [
        (fleet.codes.racks["/eu/a"], 5 * DAY_S)
    ]


def test_a_member_without_rack_reads_in_an_unknown_rack():
    idle = group("g", ("m", None, None, [("orders", 0)]))
    fleet = fleet_of(cluster(topics={"orders": [(1, 2)]}, groups=[idle]))
    found = modelled(fleet, [rate("orders", None, "g", 5)])
    assert [(row.client_rack, row.client) for row in found] == [(0, 1)]


def test_the_rack_of_a_member_comes_from_the_given_function():
    group_ = group("g", ("m", None, None, [("orders", 0)]), ("n", "/eu/a", None, [("orders", 1)]))
    fleet = fleet_of(cluster(topics={"orders": [(1, 2), (2, 3)]}, groups=[group_]))
    where = {"m": Rack("/eu/c"), "n": Rack("/eu/b")}
    rates = [rate("orders", None, "g", 2)]
    found = modelled(fleet, rates, lambda _cluster, _group, member: where[member.member_id])
    assert {(row.partition, row.client_rack) for row in found} == {
        (0, fleet.codes.racks["/eu/c"]),
        (1, fleet.codes.racks["/eu/b"]),
    }


def test_flows_of_a_day_sum_to_its_bytes():
    lists = [(1, 2), (2,), (3, 1, 2), (2, 9), ()]
    fleet = fleet_of(cluster(topics={"odd": lists, "orders": [(1, 2)]}))
    rows = [rate("odd", 7), rate("odd", None, "g", 11), rate("orders", 0)]
    days = [DAY, DAY + timedelta(days=1)]
    sums = Counter()
    for row in rows_of(model_traffic(fleet, rates_of(rows), days)):
        sums[row.kind, row.day] += row.bytes
        assert (row.source, row.quality, row.client_ip) == (2, 2, None)
    in_, out = 7 * DAY_S, 11 * DAY_S
    copied = in_ // 5 * 4  # four copies: 1, 0, 2, 1, 0 followers of even shares
    assert in_ % 5 == 0
    assert sums == {
        (kind, DAY_NUMBER + n): bytes_
        for n in range(2)
        for kind, bytes_ in ((0, in_), (1, out), (2, copied))
    }


def test_a_cluster_without_racks_has_unknown_racks():
    fleet = fleet_of(cluster({1: None}, {"orders": [(1,)]}))
    found = modelled(fleet, [rate("orders", 5)])
    assert [(row.client_rack, row.broker_rack, row.bytes) for row in found] == [(0, 0, 5 * DAY_S)]


def test_topics_without_partitions_are_listed():
    fleet = fleet_of(cluster())
    elsewhere = RateRow(cluster="other", topic="orders", bytes_in_per_s=5)
    rows = [rate("orders", 5), rate("gone", 5), rate("gone", None, "g", 5), elsewhere]
    assert unknown_topics(fleet, rates_of(rows)) == (("demo", "gone"), ("other", "orders"))
    assert {row.topic for row in modelled(fleet, rows)} == {1}
