"""Snapshots as tables: codes, history, and invalid snapshots."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.model import Broker, Partition, PartitionTable
from rackwise.core.racks import Rack, crossing_level
from rackwise.pipeline.bill.coded_fleet import CodedFleet
from rackwise.pipeline.bill.cost import levels_of
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.snapshots import (
    read_snapshots,
    require_addresses,
    with_settled_racks,
)
from small_fleets import DEMO_READERS, cluster, fleet_of_files, group, parsed


def fleet_of(clusters, **more):
    return fleet_of_snapshots(read_snapshots(*parsed(clusters))[0], **more)


def partitions_of(clusters):
    """The table of partitions, which a run writes and the fleet does not keep."""
    kept = {}
    fleet_of(clusters, keep=lambda name, table, _: kept.update({name: table}))
    return kept["partition"]


def rows(table, *columns):
    """The rows of a table in order; null comes first."""
    found = [tuple(row.values()) for row in table.select(columns).to_pylist()]
    return sorted(found, key=lambda row: [(value is not None, value) for value in row])


def test_codes_do_not_depend_on_the_order_of_the_files():
    clusters = {
        "beta.json": cluster(cluster_id="beta", groups=[group("z"), group("a")]),
        "alpha.json": cluster({7: "/us/a", 2: None}, {"clicks": [(7, 2)]}, cluster_id="alpha"),
    }
    contents, parse = parsed(clusters)
    fleet = fleet_of_files(contents, parse)
    again = fleet_of_files(contents[::-1], parse)
    assert fleet.names == again.names
    assert fleet.names.clusters == ("alpha", "beta")
    assert fleet.names.topics == ("clicks", "orders")
    assert fleet.names.clients == ("a", "z")
    assert fleet.names.brokers == (
        ("alpha", 2),
        ("alpha", 7),
        ("beta", 1),
        ("beta", 2),
        ("beta", 3),
    )
    assert rows(fleet.brokers, "broker", "broker_id", "rack", "addresses", "ports") == [
        (1, 2, 0, ["10.0.0.2"], [9092]),
        (2, 7, 6, ["10.0.0.7"], [9092]),
        (3, 1, 2, ["10.0.0.1"], [9092]),
        (4, 2, 3, ["10.0.0.2"], [9092]),
        (5, 3, 4, ["10.0.0.3"], [9092]),
    ]
    assert rows(
        partitions_of(clusters), "cluster", "topic", "partition", "replicas", "leader", "bytes"
    ) == [
        (1, 1, 0, [2, 1], 2, None),
        (2, 2, 0, [3, 4], 3, None),
        (2, 2, 1, [4, 5], 4, None),
        (2, 2, 2, [5, 3], 5, None),
    ]
    assert rows(fleet.topics, "cluster", "topic", "name", "min_isr") == [
        (1, 1, "clicks", 2),
        (2, 2, "orders", 2),
    ]


def test_racks_have_a_code_for_every_ancestor():
    fleet = fleet_of({"demo.json": cluster({1: "/eu/a/r1", 2: "/us/b"})}, racks=[Rack("/eu")])
    assert rows(fleet.racks, "rack", "path", "depth", "l1", "l2", "l3", "l4") == [
        (1, "/eu", 1, 1, 0, 0, 0),
        (2, "/eu/a", 2, 1, 2, 0, 0),
        (3, "/eu/a/r1", 3, 1, 2, 3, 0),
        (4, "/us", 1, 4, 0, 0, 0),
        (5, "/us/b", 2, 4, 5, 0, 0),
    ]
    assert fleet.names.depth == 3


def test_racks_that_do_not_count_are_unknown_and_the_map_makes_paths_of_names():
    contents, parse = parsed({"demo.json": cluster({1: "/eu/a", 2: "b", 3: "/eu/c/"})})
    assert rows(fleet_of_files(contents, parse).brokers, "broker_id", "rack") == [
        (1, 2),
        (2, 0),
        (3, 0),
    ]
    read, _ = read_snapshots(contents, parse)
    fleet = fleet_of_snapshots(with_settled_racks(read, {"b": "/eu/b"}))
    assert fleet.names.racks == ("/eu", "/eu/a", "/eu/b")
    assert rows(fleet.brokers, "broker_id", "rack") == [(1, 2), (2, 3), (3, 0)]
    assert [each.broker for each in fleet.latest[0].cluster.odd_racks] == [3]


def test_sixteen_levels():
    deep = "/l" * 16
    fleet = fleet_of_snapshots(read_snapshots(*parsed({"a.json": cluster({1: deep})}))[0])
    assert fleet.names.depth == 16
    assert rows(fleet.racks, "path", "l1", "l16")[-1] == (deep, 1, 16)
    codes = np.arange(len(fleet.names.racks) + 1)
    assert levels_of(CodedFleet.of(fleet), codes[1:-1], codes[2:]).tolist() == [0] * 15


def test_the_level_of_two_racks_is_that_of_core():
    texts = ["/eu/a", "/eu/b", "/us/a", "/eu/a/r1", "/eu/a/r2", "/eu", "/", "/eu/b/r1/s/"[:-1]]
    fleet = fleet_of({"demo.json": cluster()}, racks=map(Rack, texts))
    codes = np.arange(len(fleet.names.racks) + 1)
    sender, receiver = (each.ravel() for each in np.meshgrid(codes, codes))
    racks = [None, *map(Rack, fleet.names.racks)]
    found = levels_of(CodedFleet.of(fleet), sender, receiver)
    for a, b, crossed in zip(sender.tolist(), receiver.tolist(), found.tolist(), strict=True):
        assert crossed == crossing_level(racks[a], racks[b]), (racks[a], racks[b])


def test_a_broker_known_from_replica_lists_alone_has_a_code_and_no_row():
    clusters = {"demo.json": cluster({1: "/eu/a"}, {"t": [(9, 1)]})}
    fleet = fleet_of(clusters)
    assert fleet.codes.brokers == {("demo", 1): 1, ("demo", 9): 2}
    assert rows(fleet.brokers, "broker") == [(1,)]
    assert rows(partitions_of(clusters), "replicas", "leader") == [([2, 1], 2)]


def test_adding_replicas_do_not_count_and_no_leader_is_zero():
    table = PartitionTable.of(
        [Partition(topic="t", partition=0, replicas=(1, 2, 3), adding=(2,), isr=(1,), bytes=7)]
    )
    moving = cluster()
    found = partitions_of({"demo.json": _with(moving, partitions=table)})
    assert rows(found, "replicas", "leader", "isr", "bytes") == [([1, 3], 0, [1], 7)]


def _with(value, **changes):
    from dataclasses import replace

    return replace(value, **changes)


def test_a_cluster_without_partitions_does_not_end_the_table():
    clusters = {f"{name}.json": cluster(cluster_id=name) for name in ("a", "c", "d")}
    clusters["b.json"] = cluster(topics={}, cluster_id="b")
    found = partitions_of(clusters)
    assert rows(found, "cluster", "partition") == [(c, p) for c in (1, 3, 4) for p in range(3)]
    assert {column.num_chunks for column in found.columns} == {1}


def test_members_are_listed_by_topic():
    idle = group("idle", ("i", None, None, []))
    fleet = fleet_of({"demo.json": cluster(groups=[DEMO_READERS, idle])})
    columns = ("client_group", "member_id", "address", "rack", "topic", "partitions")
    assert rows(fleet.members, *columns) == [
        (1, "i", None, 0, 0, []),
        (2, "m0", "10.1.0.2", 3, 1, [0]),
        (2, "m1", "10.1.0.1", 2, 1, [1]),
        (2, "m2", "10.1.0.3", 4, 1, [2]),
    ]


def test_names_from_flows_get_codes_too():
    fleet = fleet_of(
        {"demo.json": cluster()},
        racks=[Rack("/us/x")],
        groups=["batch"],
        topics=[("demo", "gone"), ("elsewhere", "gone too")],
    )
    assert "/us/x" in fleet.codes.racks
    assert "batch" in fleet.codes.clients
    assert rows(fleet.topics, "topic", "name", "min_isr") == [(1, "gone", None), (3, "orders", 2)]


class TestHistory:
    def snapshots(self):
        def at(time, leader):
            return cluster(topics={"orders": [(leader, 3 - leader)]}, taken_at=time)

        return {
            "3.json": at("2026-11-01T10:40:00Z", 1),
            "1.json": at("2026-11-01T08:20:00Z", 1),
            "2.json": at("2026-11-01T10:00:00Z", 2),
            "0.json": at("2026-11-01T08:10:00.000001Z", 2),
        }

    def test_a_snapshot_covers_hours_from_the_next_full_hour_on(self):
        fleet = fleet_of(self.snapshots())
        hours = [datetime(2026, 11, 1, hour, tzinfo=UTC) for hour in (9, 10, 11)]
        assert rows(partitions_of(self.snapshots()), "valid_from", "valid_to", "leader") == [
            (hours[0], hours[1], 1),
            (hours[1], hours[2], 2),
            (hours[2], None, 1),
        ]
        assert fleet.has_history
        assert [s.file for s in fleet.latest] == ["3.json"]

    def test_the_first_hours_of_snapshots_by_cluster(self):
        other = cluster(cluster_id="other", taken_at="2026-11-01T12:00:00Z")
        fleet = fleet_of(self.snapshots() | {"o.json": other})
        midnight = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp()) // 3600
        assert fleet.first_hours == {
            1: (midnight + 9, midnight + 10, midnight + 11),
            2: (midnight + 12,),
        }

    def test_one_snapshot_is_not_a_history(self):
        assert not fleet_of({"demo.json": cluster()}).has_history

    def test_a_cluster_without_id_is_named_for_its_file(self):
        fleet = fleet_of(
            {
                "day1/shop.json.gz": cluster(cluster_id=None),
                "day2/shop.json": cluster(cluster_id=None, taken_at="2026-11-02T00:00:00Z"),
            },
        )
        assert fleet.names.clusters == ("shop",)
        assert fleet.has_history


class TestRefused:
    def test_one_name_for_two_clusters(self):
        with pytest.raises(
            InvalidSnapshot,
            match=r"expected one cluster id .*demo, got None in a/demo\.json and demo in demo",
        ) as caught:
            fleet_of({"demo.json": cluster(), "a/demo.json": cluster(cluster_id=None)})
        assert caught.value.hint.startswith("rename one of the two files")

    def test_no_snapshot(self):
        with pytest.raises(
            InvalidSnapshot, match="expected at least one readable snapshot"
        ) as caught:
            fleet_of({})
        assert "rackwise snapshot" in caught.value.hint

    def test_a_snapshot_that_cannot_be_parsed_does_not_stop_the_others(self):
        from rackwise.pipeline.fleet.snapshots import read_snapshots

        def parse(content):
            if content == b"bad.json":
                raise InvalidSnapshot("no snapshot", where="$")
            return cluster()

        contents = [("good.json", b"good.json"), ("bad.json", b"bad.json")]
        read, failed = read_snapshots(contents, parse)
        assert [snapshot.file for snapshot in read] == ["good.json"]
        assert [(one.file, one.error.message) for one in failed] == [("bad.json", "no snapshot")]
        with pytest.raises(InvalidSnapshot, match="no snapshot"):
            fleet_of_files(contents, parse)

    @pytest.mark.parametrize("taken_at", ["yesterday", "2026-11-01T00:00:00+02:00", "2026-11-01"])
    def test_a_time_that_is_not_utc(self, taken_at):
        _, failed = read_snapshots(*parsed({"demo.json": cluster(taken_at=taken_at)}))
        assert "expected a time in UTC such as 2026-11-01T00:00:00Z, got" in failed[0].error.message
        assert failed[0].error.hint

    def test_a_broker_without_address_where_flow_logs_are_read(self):
        blind = _with(cluster(), brokers=(Broker(id=4, rack=Rack("/eu/a"), host="b4"),))
        read, _ = read_snapshots(*parsed({"demo.json": blind}))
        with pytest.raises(
            InvalidSnapshot,
            match=r"expected an IP address for every broker .* none for broker 4 of cluster demo",
        ) as caught:
            require_addresses(read)
        assert caught.value.hint == "take the snapshot with `rackwise snapshot --resolve`"
        assert caught.value.where == "demo.json"
        require_addresses(read_snapshots(*parsed({"demo.json": cluster()}))[0])


def test_a_large_table_keeps_its_rows():
    lists = [(1 + i % 3, 1 + (i + 1) % 3) for i in range(5000)]
    found = partitions_of({"demo.json": cluster(topics={"t": lists}, size=3)})
    assert sum(found["bytes"].to_pylist()) == 15_000


def test_a_fleet_of_many_snapshots_is_made_column_by_column():
    """All columns of all snapshots at once would take three times as many bytes per row."""
    import tracemalloc

    from rackwise.pipeline.fleet.fleet import histories
    from rackwise.pipeline.fleet.fleet_columns import Codes, Names, tables

    hours, partitions = 20, 5_000
    value = cluster(topics={"t": [(1 + i % 3, 1 + (i + 1) % 3) for i in range(partitions)]})
    looks = {f"{h}.json": _with(value, taken_at=f"2026-11-01T{h:02}:00:00Z") for h in range(hours)}
    history = histories(read_snapshots(*parsed(looks))[0])
    (snapshots,) = history.values()
    names = Names.of(snapshots, racks=(), groups=(), topics=())
    codes = Codes.of(names)
    tables(history, names, codes)  # loads what is loaded once
    tracemalloc.start()
    table, _ = tables(history, names, codes)["partitions"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table.num_rows == hours * partitions
    assert peak / table.num_rows < 25
