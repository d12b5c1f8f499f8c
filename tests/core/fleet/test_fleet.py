"""A generated fleet as a whole: its files match its tally and its truth."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from plain_flows import UNKNOWN, Reader, known_bytes, malformed_log, read_logs, rows_of
from rackwise.core.errors import InvalidConfig, InvalidRack, InvalidSnapshot
from rackwise.core.fleet import (
    FleetOptions,
    FlowFormat,
    Shape,
    fleet_of_clusters,
    flow_file,
    generate_fleet,
    replace_addresses,
    truth,
)
from rackwise.core.fleet.flows.tally import CELL, add_tallies
from rackwise.core.racks import Rack
from truth_prices import AWS

SMALL = FleetOptions(brokers=9, topics=20, flows=3000, bad_rows=0.02, ipv6=0.1)


def generate(options):
    fleet = generate_fleet(options)
    pairs = [flow_file(fleet, index) for index in range(options.files)]
    return fleet, [file for file, _ in pairs], add_tallies([tally for _, tally in pairs])


def cells_of(fleet, tally):
    """(day, cluster, kind, pair, from, to) -> bytes, in names."""
    ids = fleet.world.brokers.ids
    found = Counter()
    for row, bytes_ in zip(tally.cells.tolist(), tally.bytes.tolist(), strict=True):
        cell = dict(zip(CELL, row, strict=True))
        pair = (int(ids[cell["broker"]]), int(ids[cell["peer"]])) if cell["broker"] >= 0 else None
        racks = [
            UNKNOWN if cell[end] < 0 else fleet.racks[cell[end]].text
            for end in ("from_rack", "to_rack")
        ]
        kind = ("produce", "fetch", "replicate")[cell["kind"]]
        cluster = fleet.clusters[cell["cluster"]].cluster_id
        found[(cell["day"], cluster, kind, pair, *racks)] += bytes_
    return dict(found)


def outcome_of(tally):
    outcomes = defaultdict(Counter)
    for (_, outcome), (rows, bytes_) in tally.outcomes.items():
        outcomes[outcome].update(rows=rows, bytes=bytes_)
    return {outcome: dict(sums) for outcome, sums in outcomes.items()}


class TestFlowLogs:
    """Every row of a log gives a reader the outcome and the racks with which it was drawn."""

    @pytest.mark.parametrize("version", [2, 5])
    @pytest.mark.parametrize("flow_format", [FlowFormat.VPC, FlowFormat.VPC_TEXT])
    def test_a_naive_reader_finds_the_tally(self, version, flow_format):
        fleet, files, tally = generate(
            replace(SMALL, log_version=version, flow_format=flow_format, days=2, clusters=2)
        )
        outcomes, kept = read_logs(fleet, files)
        assert outcomes == outcome_of(tally)
        assert kept == cells_of(fleet, tally)

    def test_no_outcome_is_missing(self):
        _, _, tally = generate(replace(SMALL, flow_format=FlowFormat.VPC_TEXT, flows=6000))
        assert {outcome for _, outcome in tally.outcomes} == {
            *("kept", "nodata", "skipdata", "rejected", "not-kafka", "duplicate-side"),
            *("malformed:srcaddr", "malformed:dstaddr", "malformed:bytes", "malformed:packets"),
            *("malformed:srcport", "malformed:dstport", "malformed:end", "malformed:pkt_srcaddr"),
            *("malformed:protocol", "malformed:start", "malformed:columns", "malformed:header"),
            *("malformed:charset", "malformed:line", "malformed:pkt_dstaddr"),
            *("malformed:log_status", "malformed:flow_direction"),
        }

    def test_without_direction_an_interface_has_one_address_in_all_its_rows(self):
        _, files, _ = generate(replace(SMALL, log_version=2))
        for file in files:
            common = {}
            for row in rows_of(file):
                if malformed_log(row) is None and row["log_status"] == "OK":
                    ends = {row["srcaddr"], row["dstaddr"]}
                    common[row["interface_id"]] = common.get(row["interface_id"], ends) & ends
            assert {len(ends) for ends in common.values()} == {1}

    def test_the_twin_of_a_duplicate_is_never_spoiled(self):
        _, files, _ = generate(replace(SMALL, bad_rows=0.5, duplicates=0.3))
        for file in files:
            good = [row for row in rows_of(file) if malformed_log(row) is None]
            seen = Counter(
                (row["srcport"], row["dstport"], row["start"], row["bytes"])
                for row in good
                if row["log_status"] == "OK"
            )
            assert sum(count == 2 for count in seen.values()) == 225

    def test_only_the_packets_address_has_the_rack_of_a_container(self):
        fleet, files, _ = generate(replace(SMALL, clusters=4))
        reader = Reader(fleet)
        hidden = [
            row
            for row in rows_of(files[0])
            if malformed_log(row) is None
            and row["srcaddr"] != (row["pkt_srcaddr"] or row["srcaddr"])
        ]
        assert hidden
        assert {reader.rack_of(row["srcaddr"]) for row in hidden} == {UNKNOWN}
        assert len({reader.rack_of(row["pkt_srcaddr"]) for row in hidden}) > 1

    def test_ipv6_rows_have_both_ends_of_ipv6(self):
        _, files, tally = generate(replace(SMALL, ipv6=0.3))
        families = Counter(
            (":" in row["srcaddr"], ":" in row["dstaddr"])
            for row in rows_of(files[0])
            if malformed_log(row) is None and row["log_status"] == "OK"
        )
        assert families[True, True] > 100
        assert families[True, False] == families[False, True] == 0
        assert tally.bytes.sum() > 0


class TestCanonical:
    """Every canonical row has the racks it was drawn with: its own, its client's, its subnet's."""

    def test_a_naive_reader_finds_the_tally(self):
        fleet, files, tally = generate(replace(SMALL, flow_format=FlowFormat.CANONICAL, clusters=2))
        reader = Reader(fleet)
        outcomes, kept, ways = defaultdict(Counter), Counter(), Counter()
        for file in files:
            for row in rows_of(file):
                reason = malformed_canonical(row)
                outcomes[reason or "kept"].update(rows=1, bytes=known_bytes(row))
                if reason is None:
                    key, way = canonical_key(row, reader)
                    kept[key] += row["bytes"]
                    ways[way] += 1
        assert {outcome: dict(sums) for outcome, sums in outcomes.items()} == outcome_of(tally)
        assert dict(kept) == cells_of(fleet, tally)
        assert set(ways) == {"row", "table", "subnet", "none", "copy"}

    def test_topics_and_groups_are_in_the_rows(self):
        fleet, files, tally = generate(replace(SMALL, flow_format=FlowFormat.CANONICAL, bad_rows=0))
        document = truth(fleet, [tally], [AWS])
        by_topic, by_group = Counter(), Counter()
        for row in (row for file in files for row in rows_of(file)):
            by_group[row["client_group"] or UNKNOWN] += row["bytes"]
            if row["topic"] or row["kind"] != "replicate":
                by_topic[row["topic"] or UNKNOWN] += row["bytes"]
        truth_bytes = {entry["topic"]: entry["bytes"] for entry in document["by_topic"]}
        assert {e["client_group"]: e["bytes"] for e in document["by_group"]} == by_group
        assert all(truth_bytes[topic] >= bytes_ for topic, bytes_ in by_topic.items())
        assert sum(truth_bytes.values()) == int(tally.bytes.sum())


def malformed_canonical(row):
    known = {
        "cluster": row["cluster"] not in {None, "elsewhere"},
        "window_start": row["window_start"] is not None,
        "window_s": row["window_s"] >= 0,
        "kind": row["kind"] in {"produce", "fetch", "replicate"},
        "client_address": row["client_address"] != "10.0.0.256",
        "broker_id": row["broker_id"] is not None and row["broker_id"] < 100,
        "peer_broker_id": row["peer_broker_id"] is None or row["peer_broker_id"] < 100,
        "partition": row["partition"] is None or row["partition"] >= 0,
        "bytes": row["bytes"] is not None and row["bytes"] >= 0,
        "packets": row["packets"] >= 0,
        "source": row["source"] == "otlp",
    }
    return next((f"malformed:{column}" for column, is_good in known.items() if not is_good), None)


def canonical_key(row, reader):
    """The cell of a row, and the source of its client's rack."""
    near = reader.by_id[row["cluster"], row["broker_id"]]
    day, pair = row["window_start"] // 86_400, None
    if row["kind"] == "replicate":
        far, way = reader.by_id[row["cluster"], row["peer_broker_id"]], "copy"
        pair = (row["broker_id"], row["peer_broker_id"])
    elif row["client_rack"] is not None:
        far, way = row["client_rack"], "row"
    elif row["client_id"] in reader.clients:
        far, way = reader.clients[row["client_id"]], "table"
    else:
        far = reader.rack_of(row["client_address"])
        way = "none" if far == UNKNOWN else "subnet"
    racks = (far, near) if row["kind"] == "produce" else (near, far)
    return (day, row["cluster"], row["kind"], pair, *racks), way


class TestSameOptionsSameFiles:
    def test_a_file_is_a_function_of_seed_and_index_alone(self):
        fleet, files, _ = generate(SMALL)
        again = generate_fleet(SMALL)
        for index in (3, 0, 2):
            alone, _ = flow_file(again, index)
            assert rows_of(alone) == rows_of(files[index])
        assert again.clusters == fleet.clusters

    def test_another_seed_gives_other_clusters_and_flows(self):
        fleet, files, _ = generate(SMALL)
        other, others, _ = generate(replace(SMALL, seed=8))
        assert other.clusters[0].cluster_id != fleet.clusters[0].cluster_id
        assert rows_of(others[0]) != rows_of(files[0])

    def test_seed_7_gives_the_frozen_numbers(self):
        """Users' fixtures depend on these numbers, so no version of numpy may change them."""
        fleet, files, tally = generate(replace(SMALL, flows=100, bad_rows=0))
        assert fleet.clusters[0].cluster_id == "xSf1Fd7JXM0cp0ON4Dgd7A"
        assert int(fleet.clusters[0].partitions.bytes.sum()) == 824_258_513_925
        assert int(tally.bytes.sum()) == 8_870_180_279
        addresses = [row["srcaddr"] for row in rows_of(files[0])[:3]]
        assert addresses == ["10.10.0.18", "10.10.0.15", "10.4.3.253"]

    def test_flows_are_counted_exactly_whatever_the_number_of_files(self):
        options = replace(SMALL, flows=1001, days=3, bad_rows=0.1, duplicates=0.2)
        _, files, tally = generate(options)
        outcomes = outcome_of(tally)
        assert len(files) == options.files == 12
        assert outcomes["duplicate-side"]["rows"] == 200
        assert (
            sum(
                outcomes[outcome]["rows"] for outcome in outcomes if outcome.startswith("malformed")
            )
            == 100
        )
        assert sum(sums["rows"] for sums in outcomes.values()) == sum(map(len, files)) == 1201

    def test_nothing_is_replicated_where_there_is_one_replica(self):
        fleet, files, tally = generate(
            replace(SMALL, replication=1, flow_format=FlowFormat.CANONICAL)
        )
        assert sum(map(len, files)) == 3000
        assert {key[2] for key in cells_of(fleet, tally)} == {"produce", "fetch"}

    def test_clients_beyond_a_small_network_live_in_a_larger_one(self):
        fleet = generate_fleet(
            replace(SMALL, racks=(Rack("a"),), clusters=250, topics=1, brokers=3, flows=0)
        )
        ends = fleet.world.endpoints
        clients = [ends.words[code] for code in ends.address[ends.broker < 0]]
        assert len(clients) == len(set(clients)) == 6001
        nested = [address for address in clients if address.startswith("10.0.5.")]
        assert len(nested) == 2**8 - 5

    def test_no_flows_at_all(self):
        fleet, files, tally = generate(replace(SMALL, flows=0))
        assert [len(file) for file in files] == [0, 0, 0, 0]
        assert truth(fleet, [tally], [AWS])["total"] == []


class TestObserved:
    """A fleet of existing clusters."""

    def test_addresses_and_ports_are_those_of_the_snapshot(self):
        clusters = generate_fleet(replace(SMALL, seed=3, ipv6=0)).clusters
        fleet = fleet_of_clusters(SMALL, clusters)
        file, _ = flow_file(fleet, 0)
        ends = fleet.world.endpoints
        known = {a for cluster in clusters for broker in cluster.brokers for a in broker.addresses}
        assert {ends.words[code] for code in ends.address[ends.broker >= 0]} == known
        assert any(row["dstport"] == 9092 and row["dstaddr"] in known for row in rows_of(file)[:50])

    def test_generated_addresses_are_distinct_and_in_the_broker_s_rack(self):
        cluster = generate_fleet(SMALL).clusters[0]
        shared = replace(
            cluster,
            brokers=tuple(replace(broker, addresses=("127.0.0.1",)) for broker in cluster.brokers),
        )
        with pytest.raises(
            InvalidSnapshot, match=r"got 127\.0\.0\.1 for broker 0 .* and broker 1 "
        ):
            fleet_of_clusters(SMALL, [shared])
        fleet = fleet_of_clusters(SMALL, replace_addresses(SMALL, [shared, shared]))
        reader = Reader(fleet)
        found = [b for cluster in fleet.clusters for b in cluster.brokers]
        assert len({b.addresses[0] for b in found}) == 18
        assert all(reader.rack_of(b.addresses[0]) == b.rack.text for b in found)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (
                {"addresses": ("fd00::1",)},
                "expected an IPv4 address and a port, got fd00::1 and port 9092 for ",
            ),
            ({"addresses": ()}, "got no address and port 9092"),
            ({"port": None}, "and port None"),
            ({"rack": None}, "a rack of every broker .* none on broker 4"),
        ],
    )
    def test_a_broker_without_usable_address_is_rejected(self, change, said):
        cluster = generate_fleet(SMALL).clusters[0]
        brokers = tuple(replace(b, **change) if b.id == 4 else b for b in cluster.brokers)
        with pytest.raises(InvalidSnapshot, match=said):
            fleet_of_clusters(SMALL, [replace(cluster, brokers=brokers)])

    def test_replicas_on_a_broker_that_is_not_listed(self):
        cluster = generate_fleet(SMALL).clusters[0]
        with pytest.raises(InvalidSnapshot, match="got replicas on broker 8, which is not listed"):
            fleet_of_clusters(SMALL, [replace(cluster, brokers=cluster.brokers[:-1])])

    def test_a_cluster_without_any_leader(self):
        cluster = generate_fleet(SMALL).clusters[0]
        table = replace(cluster.partitions, leader=np.full_like(cluster.partitions.leader, -1))
        with pytest.raises(InvalidSnapshot, match="expected a partition with a leader"):
            fleet_of_clusters(SMALL, [replace(cluster, partitions=table)])


class TestOptions:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"clusters": 0}, "expected --clusters of 1 to 250, got 0"),
            ({"brokers": 0}, "expected --brokers of 1 to 30000, got 0"),
            ({"topics": 0}, "expected --topics of 1 to 1000000, got 0"),
            ({"racks": ()}, "expected --racks of 1 to 60, got 0"),
            ({"replication": 10}, "expected --rf of 1 to 9, got 10"),
            ({"days": 0}, "expected --days of 1 to 3660, got 0"),
            ({"flows": -1}, "expected --flows of 0 to 100000000000, got -1"),
            ({"seed": -1}, "expected --seed of 0 to 9223372036854775807, got -1"),
            ({"violations": 1.5}, "expected --violations of 0 to 1, got 1.5"),
            ({"bad_rows": 0.6}, "expected --bad-rows of 0 to 0.5, got 0.6"),
            ({"duplicates": float("nan")}, "expected --duplicates of 0 to 0.5, got nan"),
            ({"log_version": 3}, "expected --log-version 2 or 5, got 3"),
            ({"first_day": date.max}, "expected days that end before 9999-12-31"),
            ({"racks": (Rack("a"), Rack("a"))}, "expected distinct racks, got 2"),
            (
                {"shape": Shape.GROWN, "brokers": 5},
                "expected --rf of at most 0 for shape grown on 5 brokers in 3 racks, got 3",
            ),
        ],
    )
    def test_invalid_options_are_rejected(self, change, said):
        with pytest.raises(InvalidConfig, match=said.replace("(", r"\(")) as caught:
            generate_fleet(replace(SMALL, **change))
        assert caught.value.hint

    def test_an_invalid_rack_is_rejected(self):
        with pytest.raises(InvalidRack, match="empty segment"):
            generate_fleet(replace(SMALL, racks=(Rack("/eu//a"),)))
        with pytest.raises(InvalidRack, match="one form of rack"):
            generate_fleet(replace(SMALL, racks=(Rack("/eu/a"), Rack("b"))))

    def test_files_hold_at_most_a_quarter_of_a_million_flows(self):
        assert FleetOptions(flows=1_000_000).files == 4
        assert FleetOptions(flows=1_000_001).files == 5
        assert FleetOptions(flows=10, days=2).files == 8
