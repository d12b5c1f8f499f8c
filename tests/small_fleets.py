"""Small clusters as values, and facts about them as tables, for the suites of the pipeline."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime

from rackwise.core.model import (
    Broker,
    Cluster,
    Group,
    GroupMember,
    Partition,
    PartitionTable,
    Topic,
)
from rackwise.core.odd_racks import NO_MAP
from rackwise.core.racks import Rack
from rackwise.core.traffic import Price

DAY = date(2026, 11, 1)
DAY_NUMBER = (DAY - date(1970, 1, 1)).days
GIB = 2**30
CENT = 10_000_000
DEMO_RACKS = {1: "/eu/a", 2: "/eu/b", 3: "/eu/c"}
DEMO_ORDERS = ((1, 2), (2, 3), (3, 1))


def cluster(
    racks=DEMO_RACKS,
    topics=None,
    *,
    cluster_id="demo",
    taken_at="2026-11-01T00:00:00Z",
    groups=(),
    min_isr=2,
    size=None,
):
    """A cluster from broker -> rack and topic -> replica lists; leaders are preferred ones."""
    topics = {"orders": DEMO_ORDERS} if topics is None else topics
    return Cluster(
        cluster_id=cluster_id,
        taken_at=taken_at,
        brokers=tuple(
            Broker(
                id=id_,
                rack=None if rack is None else Rack(rack),
                host=f"broker-{id_}",
                port=9092,
                addresses=(f"10.0.0.{id_}",),
            )
            for id_, rack in sorted(racks.items())
        ),
        topics={name: Topic(name=name, min_insync_replicas=min_isr) for name in sorted(topics)},
        partitions=PartitionTable.of(
            Partition(
                topic=name,
                partition=number,
                replicas=tuple(replicas),
                leader=replicas[0] if replicas else None,
                isr=tuple(replicas),
                bytes=size,
            )
            for name, lists in topics.items()
            for number, replicas in enumerate(lists)
        ),
        groups=tuple(groups),
    )


def group(name, *members):
    """A group from (member id, rack, address, [(topic, partition)])."""
    return Group(
        group=name,
        protocol="classic",
        members=tuple(
            GroupMember(
                member_id=id_,
                client_id=id_,
                address=address,
                rack=None if rack is None else Rack(rack),
                partitions=tuple(partitions),
            )
            for id_, rack, address, partitions in members
        ),
    )


DEMO_READERS = group(
    "readers",
    ("m0", "/eu/b", "10.1.0.2", [("orders", 0)]),
    ("m1", "/eu/a", "10.1.0.1", [("orders", 1)]),
    ("m2", "/eu/c", "10.1.0.3", [("orders", 2)]),
)


def parsed(clusters):
    """File contents and their parser, for clusters by file name: the input of `fleet_of_files`."""
    contents = [(name, name.encode()) for name in clusters]
    return contents, lambda content: clusters[content.decode()]


def fleet_of_files(contents, parse):
    """The fleet of (path, content) of snapshot files. Raises the error of the first invalid one."""
    from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
    from rackwise.pipeline.fleet.snapshots import read_snapshots, with_settled_racks

    read, failed = read_snapshots(contents, parse)
    if failed:
        raise failed[0].error
    return fleet_of_snapshots(with_settled_racks(read, NO_MAP))


def price(**fields):
    """A valid price of a cent each way per GiB that crosses a zone, open on both sides."""
    row = {
        "provider": "aws",
        "region": "*",
        "level": "zone",
        "kind": "*",
        "nano_usd_per_gb_out": CENT,
        "nano_usd_per_gb_in": CENT,
        "gb_bytes": GIB,
        "valid_from": date(2026, 1, 1),
        "valid_to": None,
        "source": "price list",
        "is_checked": True,
    } | fields
    return Price(**{"row": ",".join(str(value) for value in row.values())} | row)


FACT = {
    "window_start": datetime(2026, 11, 1, tzinfo=UTC),
    "window_s": 60,
    "day": DAY_NUMBER,
    "cluster": 1,
    "kind": 0,
    "source": 1,
    "quality": 0,
    "client_ip": None,
    "client": 0,
    "client_rack": 0,
    "broker": 0,
    "broker_rack": 0,
    "peer": 0,
    "peer_rack": 0,
    "topic": 0,
    "partition": None,
    "bytes": 0,
    "packets": None,
}


def facts(rows):
    """A table of FLOW_FACT from dictionaries with the differences from `FACT`."""
    import pyarrow as pa

    from rackwise.pipeline.schemas import FLOW_FACT, arrow_schema

    whole = [FACT | row for row in rows]
    return pa.Table.from_pylist(whole, schema=arrow_schema(FLOW_FACT))


def counted(table, *columns):
    """How often each row of an Arrow table is there."""
    kept = table.select(columns) if columns else table
    return Counter(tuple(row.values()) for row in kept.to_pylist())
