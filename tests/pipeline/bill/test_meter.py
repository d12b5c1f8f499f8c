"""A fleet metered by its own snapshots: totals, topics and groups against the generated truth."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyarrow.parquet
import pytest

from rackwise.core.fleet import FleetOptions, FlowFormat
from rackwise.core.inventory.addresses import AddressRow
from rackwise.pipeline.schemas import KINDS
from truths import write_fleet

pytestmark = pytest.mark.spark

OPTIONS = FleetOptions(
    seed=301, clusters=2, brokers=6, topics=12, flows=20_000, looks=4, bad_rows=0.0, violations=0.02
)


def analyzed(spark, request, **changes):
    """The summary and the rows of cross_rack of a run, with cluster ids."""
    from rackwise.pipeline.job import analyze

    made = analyze(spark, replace(request, **changes))
    names = pyarrow.parquet.read_table(f"{made.tables}/silver/cluster").to_pylist()
    ids = {row["name"]: row["cluster_id"] for row in names}
    rows = pyarrow.parquet.read_table(f"{made.tables}/gold/cross_rack").to_pylist()
    return made.summary, [row | {"cluster": ids[row["cluster"]]} for row in rows], made


def by_topic_and_group(rows):
    """(cluster, topic, group, kind) -> bytes."""
    found = Counter()
    for row in rows:
        found[row["cluster"], row["topic"], row["client_group"], row["kind"]] += row["bytes"]
    return found


def true_bytes(told):
    """The same from the truth."""
    return {
        (row["cluster"], row["topic"], row["client_group"], row["kind"]): sum(
            row[f"bytes_{part}"] for part in ("local", "cross", "unknown")
        )
        for row in told["by_topic_and_group"]
    }


class TestWithoutFlowLogs:
    def test_the_meter_bills_what_was_written_copied_and_read(self, spark, tmp_path):
        told, request = write_fleet(OPTIONS, tmp_path)
        summary, rows, _ = analyzed(spark, request, flows=())
        found, wanted = by_topic_and_group(rows), true_bytes(told)
        for key in wanted.keys() | found.keys():
            if key[3] in {"produce", "replicate"} or (key[3] == "fetch" and key[2] != "(unknown)"):
                assert found[key] == pytest.approx(wanted.get(key, 0), rel=0.01), key
        assert {row["quality"] for row in rows} <= {"metered", "estimated"}
        assert summary["quality"]["bytes_metered"] > 0
        assert summary["observed"]["seconds"] > 3600
        assert all(row["from_rack"] == "(unknown)" for row in rows if row["kind"] == "produce")

    def test_members_have_the_racks_of_their_addresses_at_each_snapshot(self, spark, tmp_path):
        _, request = write_fleet(replace(OPTIONS, seed=303, clusters=1), tmp_path)
        times = sorted({one.taken_at for one in request.snapshots})
        members = [m for one in request.snapshots for g in one.cluster.groups for m in g.members]
        (first, *_, last) = (broker.rack for broker in request.snapshots[0].cluster.brokers)
        assert first != last
        table = [
            AddressRow(address=address, rack=rack, start=start, end=end)
            for address in {member.address for member in members if member.address}
            for rack, start, end in ((first, None, times[1]), (last, times[1], None))
        ]
        _, rows, made = analyzed(spark, request, flows=(), addresses=tuple(table))
        flows = pyarrow.parquet.read_table(f"{made.tables}/gold/metered_flow").to_pylist()
        before = int(times[1].timestamp())
        found = {
            (flow["start_s"] >= before, flow["client_path"])
            for flow in flows
            if flow["kind"] == KINDS.index("fetch")
        }
        assert (True, first.text) not in found
        assert {(False, first.text), (False, last.text), (True, last.text)} <= found
        assert any(row["kind"] == "fetch" and row["to_rack"] == last.text for row in rows)


class TestWithFlowLogs:
    def test_flows_without_topics_are_named_by_the_meter(self, spark, tmp_path):
        told, request = write_fleet(
            replace(OPTIONS, seed=302, flow_format=FlowFormat.VPC_TEXT), tmp_path
        )
        summary, rows, made = analyzed(spark, request)
        found, wanted = by_topic_and_group(rows), true_bytes(told)
        assert sum(found.values()) == sum(
            one["bytes"] for one in summary["method"]["outcomes"] if one["reason"] == "kept"
        )
        unknown = sum(bytes_ for key, bytes_ in found.items() if key[1] == "(unknown)")
        assert unknown < 0.05 * sum(found.values())
        groups = Counter()
        for (cluster, topic, group, kind), bytes_ in wanted.items():
            if kind == "fetch":
                groups[cluster, topic, group] += bytes_
        for (cluster, topic, group), bytes_ in groups.most_common(20):
            key = (cluster, topic, group, "fetch")
            assert found[key] == pytest.approx(bytes_, rel=0.05), key
        compared = summary["reconciliation"]
        assert compared["ratio"] == pytest.approx(1, rel=0.1)
        assert "reconciliation" in made.csv
