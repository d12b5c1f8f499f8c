"""The truth of a fleet: exact sums, shares and dollars of the tallied rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from json_schemas import check, fault
from rackwise.core.errors import InvalidConfig, InvalidPrices
from rackwise.core.fleet import FleetOptions, FlowFormat, flow_file, generate_fleet, truth
from rackwise.core.fleet.flows.tally import CELL, add_tallies, tally_rows
from rackwise.core.fleet.flows.truth import TRUTH, BillRow, level_names_of, price_tally, totals
from rackwise.core.json.faults import Faults
from rackwise.core.json.forms import Definitions
from rackwise.core.json.node import JsonNode
from rackwise.core.model import Partition, PartitionTable
from rackwise.core.racks import Rack
from rackwise.core.traffic import Price, usd_nano

DAY = 20778
GIB = 2**30


def price(level="zone", kind="*", region="*", out=10_000_000, in_=10_000_000, **more):
    return Price(
        provider="aws",
        region=region,
        level=level,
        kind=kind,
        nano_usd_per_gb_out=out,
        nano_usd_per_gb_in=in_,
        gb_bytes=GIB,
        valid_from=date(2026, 1, 1),
        source="",
        is_checked=True,
        row="prices.csv:2",
        **{"valid_to": None, **more},
    )


def fleet_of(**more):
    return generate_fleet(FleetOptions(**{"brokers": 6, "topics": 3, "flows": 0, **more}))


def tally_of(*cells):
    """Tally of (bytes, column=value, ..) cells on one day."""
    columns = {name: [] for name in CELL}
    for _, cell in cells:
        for name in CELL:
            columns[name].append(cell.get(name, DAY if name == "day" else -1))
    arrays = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    return tally_rows(arrays, np.array([bytes_ for bytes_, _ in cells], dtype=np.int64), {})


def bill_of(fleet, *cells, prices=None):
    prices = prices or (price(),)
    return price_tally(fleet.clusters, fleet.racks, fleet.world, tally_of(*cells), prices)


def produce(from_rack, to_rack):
    return {"cluster": 0, "kind": 0, "from_rack": from_rack, "to_rack": to_rack}


class TestTally:
    def test_equal_cells_are_merged_and_files_add_up(self):
        one = tally_of((3, produce(0, 1)), (4, produce(0, 1)), (5, produce(1, 0)))
        assert one.bytes.tolist() == [7, 5]
        both = add_tallies([one, tally_of((1, produce(1, 0)))])
        assert both.bytes.tolist() == [7, 6]
        assert add_tallies([]).bytes.tolist() == []

    def test_outcomes_add_up_by_day(self):
        empty = tally_of()
        one = replace(empty, outcomes={(1, "kept"): (2, 30), (2, "nodata"): (1, 0)})
        two = replace(empty, outcomes={(1, "kept"): (1, 4)})
        assert add_tallies([one, two]).outcomes == {(1, "kept"): (3, 34), (2, "nodata"): (1, 0)}


class TestDollars:
    def test_a_gib_across_zones_costs_two_cents_and_within_nothing(self):
        bill = bill_of(fleet_of(), (GIB, produce(0, 1)), (GIB, produce(2, 2)))
        (total,) = totals(bill)
        assert total == {
            "bytes": 2 * GIB,
            "bytes_local": GIB,
            "bytes_cross": GIB,
            "bytes_unknown": 0,
            "bytes_unpriced": 0,
            "usd": "0.020000000",
        }

    def test_every_row_is_rounded_separately(self):
        """27 bytes cost 0.27 nano-dollars out and in: each is 0; 54 of both sides are 1 + 1."""
        apart = bill_of(fleet_of(), (54, produce(0, 1)), (53, produce(1, 0)))
        assert [amount.nano for amount in apart.values()] == [2, 0]
        assert usd_nano(54, 10_000_000, GIB) == 1

    def test_bytes_of_an_unknown_rack_have_no_price(self):
        bill = bill_of(fleet_of(), (GIB, produce(-1, 1)))
        (total,) = totals(bill)
        assert (total["bytes_unknown"], total["usd"]) == (GIB, None)

    def test_a_level_without_a_row_is_unpriced_and_not_free(self):
        fleet = fleet_of(racks=(Rack("/eu/a"), Rack("/eu/b"), Rack("/us/a")))
        bill = bill_of(fleet, (GIB, produce(0, 2)), (GIB, produce(0, 1)))
        (total,) = totals(bill)
        assert (total["bytes_unpriced"], total["usd"]) == (GIB, "0.020000000")
        by_level = {entry["level"]: entry["usd"] for entry in totals(bill, "level")}
        assert by_level == {1: None, 2: "0.020000000"}

    def test_the_region_is_that_of_the_sender(self):
        fleet = fleet_of(
            racks=(Rack("/eu/a"), Rack("/eu/b"), Rack("/us/a"), Rack("/us/b")), brokers=8
        )
        prices = (price(), price(region="us", out=50_000_000, in_=0))
        bill = bill_of(fleet, (GIB, produce(2, 3)), (GIB, produce(1, 0)), prices=prices)
        by_pair = {entry["from_rack"]: entry["usd"] for entry in totals(bill, "from_rack")}
        assert by_pair == {"/us/a": "0.050000000", "/eu/b": "0.020000000"}

    def test_a_day_without_price_is_rejected(self):
        with pytest.raises(InvalidPrices, match="2026-11-21"):
            bill_of(fleet_of(), (1, produce(0, 1)), prices=(price(valid_to=date(2026, 11, 1)),))

    def test_levels_have_names(self):
        assert level_names_of([Rack("a")]) == ("zone",)
        assert level_names_of([Rack("/eu")]) == ("zone",)
        assert level_names_of([Rack("/eu"), Rack("/eu/a/r1")]) == ("region", "zone", "rack")


class TestTopics:
    """A replicate flow without topic is spread over the partitions that its two brokers share."""

    def copy(self, sender, receiver, **more):
        return {**produce(0, 1), "kind": 2, "broker": sender, "peer": receiver, **more}

    def fleet(self):
        fleet = fleet_of()
        rows = [
            ("a", 0, (0, 1)),
            ("a", 1, (0, 1)),
            ("b", 0, (0, 1)),
            ("b", 1, (1, 0)),
            ("c", 0, (2, 1)),
        ]
        table = PartitionTable.of(
            Partition(topic=topic, partition=number, replicas=held, leader=held[0], isr=held)
            for topic, number, held in rows
        )
        return replace(fleet, clusters=(replace(fleet.clusters[0], partitions=table),))

    def test_by_the_number_of_partitions_and_largest_remainders(self):
        bill = bill_of(self.fleet(), (100, self.copy(0, 1)))
        assert {(row.topic, row.quality): amount.bytes for row, amount in bill.items()} == {
            ("a", "apportioned"): 67,
            ("b", "apportioned"): 33,
        }

    def test_the_other_way_round_is_another_pair(self):
        (row,) = bill_of(self.fleet(), (100, self.copy(1, 0)))
        assert (row.topic, row.quality) == ("b", "apportioned")

    def test_a_pair_without_partitions_keeps_the_topic_unknown(self):
        (row,) = bill_of(self.fleet(), (100, self.copy(3, 4)))
        assert (row.topic, row.quality) == ("(unknown)", "measured")

    def test_a_topic_that_is_reported_is_kept(self):
        fleet = self.fleet()
        (row,) = bill_of(fleet, (100, self.copy(0, 1, topic=1)))
        assert (row.topic, row.quality) == (fleet.world.partitions.names[1], "measured")


class TestDocument:
    @pytest.mark.parametrize("flow_format", FlowFormat)
    def test_each_table_holds_all_bytes_and_dollars(self, flow_format):
        options = FleetOptions(
            brokers=6, topics=9, flows=2000, flow_format=flow_format, clusters=2, days=2
        )
        fleet = generate_fleet(options)
        document = truth(fleet, [flow_file(fleet, i)[1] for i in range(options.files)], [price()])
        (total,) = document["total"]
        assert total["bytes"] == document["outcomes"]["kept"]["bytes"]
        assert document["rows"] == sum(outcome["rows"] for outcome in document["outcomes"].values())
        for table in (name for name in document if name.startswith("by_")):
            sums = Counter()
            for entry in document[table]:
                sums.update({k: v for k, v in entry.items() if k.startswith("bytes")})
                sums["nano"] += int((entry["usd"] or "0.0").replace(".", ""))
            assert sums.pop("nano") == int(total["usd"].replace(".", ""))
            assert dict(sums) == {k: v for k, v in total.items() if k.startswith("bytes")}

    def test_it_keeps_to_its_schema(self):
        schema = TRUTH.schema(Definitions())
        fleet = generate_fleet(FleetOptions(brokers=6, topics=9, flows=200, clusters=2))
        document = truth(fleet, [flow_file(fleet, 0)[1]], [price()])
        check(document, schema, schema)
        assert TRUTH.read(JsonNode(document, Faults("truth.json", InvalidConfig))) == document
        for wrong in (
            {"format": "rackwise.plan/1"},
            {"more": 1},
            {"total": [{}]},
            {"outcomes": {"kept": 1}},
        ):
            faults = Faults("truth.json", InvalidConfig)
            TRUTH.read(JsonNode(document | wrong, faults))
            assert faults.count
            assert fault(document | wrong, schema, schema)

    def test_the_document_names_its_options(self):
        document = truth(fleet_of(seed=5), [], [price()])
        assert document["format"] == "rackwise.truth/1"
        assert document["options"]["seed"] == 5
        assert document["options"]["racks"] == ["/eu/a", "/eu/b", "/eu/c"]
        assert document["options"]["first_day"] == "2026-11-21"
        assert document["levels"] == ["region", "zone"]
        assert document["clusters"][0]["brokers"] == 6

    def test_rows_of_the_bill_are_in_names(self):
        (row,) = bill_of(fleet_of(), (1, produce(0, -1)))
        assert row == BillRow(
            day="2026-11-21",
            cluster=fleet_of().clusters[0].cluster_id,
            kind="produce",
            topic="(unknown)",
            client_group="(unknown)",
            from_rack="/eu/a",
            to_rack="(unknown)",
            level=-1,
            quality="measured",
        )
