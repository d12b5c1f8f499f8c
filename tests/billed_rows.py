"""Rows of CROSS_RACK from short descriptions of flows, for the suites of the bill."""

from __future__ import annotations

from types import SimpleNamespace

from rackwise.core.racks import Rack
from rackwise.pipeline.bill.coded_fleet import CodedFleet
from rackwise.pipeline.bill.cost import Pricing, price_traffic
from rackwise.pipeline.bill.traffic import merge_sources, traffic
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.snapshots import read_snapshots
from small_fleets import DAY, DAY_NUMBER, cluster, facts, parsed, price


def fleet_of(racks=(), clusters=("demo",), **more):
    read, _ = read_snapshots(
        *parsed({f"{name}.json": cluster(cluster_id=name) for name in clusters})
    )
    return fleet_of_snapshots(read, racks=map(Rack, racks), **more)


def traffic_of(fleet, rows):
    """Traffic by `KEPT` from dictionaries with from, to (paths or None), bytes, kind, day."""
    codes = {None: 0} | fleet.codes.racks
    given = [
        {
            "kind": row.get("kind", 1),
            "day": row.get("day", DAY_NUMBER),
            "topic": row.get("topic", 1),
            "broker_rack": codes[row["from"]],
            "client_rack": codes[row["to"]],
            "bytes": row["bytes"],
        }
        for row in rows
    ]
    return merge_sources(traffic(facts(given), CodedFleet.of(fleet)))


CENT_EACH_WAY = (price(),)
LEVELS = ("region", "zone", "rack")


def billed(rows, *, prices=CENT_EACH_WAY, levels=LEVELS, days=(DAY,)):
    fleet = fleet_of([row[end] for row in rows for end in ("from", "to") if row[end]])
    coded = CodedFleet.of(fleet)
    pricing = Pricing.of(fleet, coded, prices=prices, levels=levels, days=days)
    return price_traffic(traffic_of(fleet, rows), pricing)


def rows_of(table):
    """The rows of a table, with names as attributes."""
    return [SimpleNamespace(**row) for row in table.to_pylist()]
