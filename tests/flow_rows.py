"""Flow rows as short texts, and the fleet that they run through, for the suites of facts."""

from __future__ import annotations

from rackwise.core.subnets import parse_subnets
from small_fleets import cluster, parsed

NOON = 1_793_534_400
"""2026-11-01 12:00 UTC, in the day that the snapshots of `small_fleets` are taken on."""
BROKER, SECOND, THIRD = "10.0.0.1", "10.0.0.2", "10.0.0.3"
LOGGED, UNLOGGED = "10.1.0.7", "10.1.5.20"
SUBNETS = "10.1.0.0/16,/eu/a\n10.1.5.0/24,/eu/b\n10.1.5.16/28,/eu/c\n2001:db8::/56,/eu/b\n"

ROW = {
    "interface_id": "eni-k",
    "srcaddr": LOGGED,
    "dstaddr": BROKER,
    "srcport": "40000",
    "dstport": "9092",
    "protocol": "6",
    "packets": "7",
    "bytes": "1000",
    "start": str(NOON),
    "end": str(NOON + 60),
    "action": "ACCEPT",
    "log_status": "OK",
    "pkt_srcaddr": None,
    "pkt_dstaddr": None,
    "flow_direction": "egress",
}
"""A logged client sends 1000 bytes to a broker."""
INGRESS = {"interface_id": "eni-b", "flow_direction": "ingress"}
NO_DATA = dict.fromkeys(
    ("srcaddr", "dstaddr", "srcport", "dstport", "protocol", "packets", "bytes", "action"), "-"
) | {"flow_direction": "-"}


def answer(**fields):
    """A broker sends to the logged client."""
    ends = {"srcaddr": BROKER, "dstaddr": LOGGED, "srcport": "9092", "dstport": "40000"}
    return {"interface_id": "eni-b"} | ends | fields


def bronze(spark, rows, *, has_direction=True):
    """BRONZE_VPC from rows that give the differences from `ROW`; `row_offset` is their index."""
    from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

    from rackwise.pipeline.ingest.vpc_files import PARTIAL
    from rackwise.pipeline.schemas import BRONZE_VPC

    whole = [
        dict.fromkeys(BRONZE_VPC.names) | ROW | {"source_file": "f", "row_offset": place} | row
        for place, row in enumerate(rows)
    ]
    names = BRONZE_VPC.fieldNames()
    frame = spark.createDataFrame([tuple(row[n] for n in names) for row in whole], BRONZE_VPC)
    mark = {PARTIAL: not has_direction}
    direction = F.col("flow_direction").alias("flow_direction", metadata=mark)
    return frame.select(*(direction if n == "flow_direction" else n for n in names))


def fleet_of(clusters=None, **more):
    """The fleet of clusters by file name; by default the three brokers of `small_fleets`."""
    from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
    from rackwise.pipeline.fleet.snapshots import read_snapshots

    snapshots, _ = read_snapshots(*parsed(clusters or {"demo.json": cluster()}))
    racks = [subnet.rack for subnet in parse_subnets(SUBNETS)]
    return fleet_of_snapshots(snapshots, racks=racks, **more)


def zoned_fleet(zones):
    """The three brokers of `small_fleets`, in zones."""
    return fleet_of({"demo.json": cluster(dict(enumerate(zones, start=1)))})


def facts_in(spark, folder, fleet, *, flow_format, **options):
    """Facts of the flow files in a folder."""
    from rackwise.pipeline.ingest.formats import flow_facts, read_flows

    rows = read_flows(spark, [str(folder)], flow_format)
    options = {"persist": at_once} | options
    return flow_facts(rows, fleet, buckets_of(fleet), format=flow_format, **options).collect()


def buckets_of(fleet, addresses=()):
    """The subnets above and rows of addresses, with the rack codes of the fleet."""
    from rackwise.pipeline.fleet.subnet_racks import subnet_buckets

    return subnet_buckets(parse_subnets(SUBNETS), fleet.codes.racks, addresses)


def at_once(df, name):  # noqa: ARG001 (the shape of `Persist`)
    """Computes the rows now, so that plans above them stay small."""
    return df.localCheckpoint()


def collect_facts(spark, rows, fleet, *, has_direction=True, addresses=(), **options):
    """Facts of the rows in their order."""
    from rackwise.pipeline.ingest.formats import flow_facts

    facts = flow_facts(
        bronze(spark, rows, has_direction=has_direction),
        fleet,
        buckets_of(fleet, addresses),
        format="vpc",
        **{"persist": at_once} | options,
    )
    return sorted(facts.collect(), key=lambda fact: fact.row_offset)
