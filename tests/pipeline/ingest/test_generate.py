"""Generated flow files as Parquet: types, missing values, and no Spark."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from plain_flows import rows_of
from rackwise.adapters import files
from rackwise.core.fleet import (
    FleetOptions,
    FlowFormat,
    fleet_of_clusters,
    flow_file,
    generate_fleet,
)
from rackwise.pipeline.ingest.generate import flow_parquet

DEMO = Path(__file__).parents[3] / "examples" / "demo"
OPTIONS = FleetOptions(brokers=6, topics=5, flows=800, bad_rows=0.1)


def first_file(options):
    return flow_file(generate_fleet(options), 0)[0]


class TestLogs:
    def test_the_file_has_the_generated_values(self):
        file = first_file(OPTIONS)
        assert parquet.read_table(BytesIO(flow_parquet(file))).to_pylist() == rows_of(file)

    def test_types_are_those_of_flow_logs(self):
        schema = parquet.read_schema(BytesIO(flow_parquet(first_file(OPTIONS))))
        for name in ("version", "srcport", "dstport", "protocol"):
            assert schema.field(name).type == pa.int32()
        for name in ("packets", "bytes", "start", "end"):
            assert schema.field(name).type == pa.int64()
        for name in ("srcaddr", "pkt_dstaddr", "log_status", "flow_direction", "account_id"):
            assert schema.field(name).type == pa.string()

    def test_version_2_has_neither_direction_nor_packet_addresses(self):
        data = flow_parquet(first_file(replace(OPTIONS, log_version=2)))
        names = parquet.read_schema(BytesIO(data)).names
        assert names[-1] == "log_status"
        assert not {"flow_direction", "pkt_srcaddr"} & set(names)


class TestCanonical:
    def test_times_are_timestamps_in_utc(self):
        file = first_file(replace(OPTIONS, flow_format=FlowFormat.CANONICAL))
        table = parquet.read_table(BytesIO(flow_parquet(file)))
        assert table.schema.field("window_start").type == pa.timestamp("us", tz="UTC")
        starts = table.column("window_start").to_pylist()
        wanted = [row["window_start"] for row in rows_of(file)]
        assert None in starts
        assert starts == [None if s is None else datetime.fromtimestamp(s, UTC) for s in wanted]


def test_equal_files_have_equal_bytes():
    first, second = (flow_parquet(first_file(OPTIONS)) for _ in range(2))
    assert first == second


def test_flows_of_a_real_cluster_name_its_brokers_and_are_the_same_again():
    cluster = files.read_snapshot(DEMO / "snapshot.json.gz")
    options = FleetOptions(flows=2_000, first_day=date(2026, 11, 22))
    first, again = (
        rows_of(flow_file(fleet_of_clusters(options, [cluster]), 0)[0]) for _ in range(2)
    )
    assert first == again
    listeners = {(broker.host, broker.port) for broker in cluster.brokers}
    ends = {(row[f"{end}addr"], row[f"{end}port"]) for row in first for end in ("src", "dst")}
    assert listeners <= ends


def test_pyspark_is_never_loaded():
    code = "import sys, rackwise.pipeline.ingest.generate; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
