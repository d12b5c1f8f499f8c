"""`analyze` reports the generated truth of generated files, to the byte and the nano-dollar."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from pyarrow import parquet

from rackwise.core.fleet import FleetOptions, FlowFormat, Shape
from rackwise.core.racks import Rack
from rackwise.pipeline.job import analyze
from truths import check_truth, write_fleet

pytestmark = pytest.mark.spark

BASE = FleetOptions(brokers=9, topics=30, flows=20_000, bad_rows=0.01, ipv6=0.1)
CASES = {
    "text of version 5": replace(
        BASE,
        seed=101,
        flow_format=FlowFormat.VPC_TEXT,
        shape=Shape.MESSY,
        racks=(Rack("use1-az1"), Rack("use1-az2"), Rack("use1-az4")),
    ),
    "Parquet of version 2, two clusters, two days": replace(
        BASE, seed=102, log_version=2, clusters=2, days=2, shape=Shape.LOST
    ),
    "canonical, two regions": replace(
        BASE,
        seed=103,
        flow_format=FlowFormat.CANONICAL,
        shape=Shape.RANDOM,
        racks=(Rack("/eu/a"), Rack("/eu/b"), Rack("/us/a")),
    ),
    "canonical, three looks at two clusters": replace(
        BASE, seed=105, flow_format=FlowFormat.CANONICAL, clusters=2, looks=3, retention=0.2
    ),
}
CASES |= {
    "Google Cloud, zones of the log": replace(
        BASE,
        seed=107,
        flow_format=FlowFormat.GCP,
        racks=(Rack("us-east4-a"), Rack("us-east4-b"), Rack("us-east4-c")),
    ),
    "Google Cloud, paths of racks, two clusters": replace(
        BASE,
        seed=108,
        flow_format=FlowFormat.GCP,
        clusters=2,
        racks=(Rack("/us-east4/us-east4-a"), Rack("/us-east4/us-east4-b"), Rack("/us/us-west1-a")),
    ),
}
CASES |= {
    "Azure": replace(
        BASE,
        seed=109,
        flow_format=FlowFormat.AZURE,
        clusters=2,
        racks=(Rack("1"), Rack("2"), Rack("3")),
    ),
}
CASES |= {
    "Transit Gateway": replace(
        BASE,
        seed=110,
        flow_format=FlowFormat.TGW,
        racks=(Rack("use1-az1"), Rack("use1-az2"), Rack("use1-az4")),
    ),
}
CASES |= {
    "OpenTelemetry eBPF": replace(
        BASE,
        seed=111,
        flow_format=FlowFormat.OBI,
        racks=(Rack("us-east4-a"), Rack("us-east4-b"), Rack("us-east4-c")),
    ),
}
WITHOUT_SUBNETS = ("Google Cloud, zones of the log", "OpenTelemetry eBPF")
"""Cases whose logs name the zones."""
SLOW = (
    "Parquet of version 2, two clusters, two days",
    "canonical, two regions",
    "Google Cloud, zones of the log",
    "Google Cloud, paths of racks, two clusters",
    "Azure",
    "OpenTelemetry eBPF",
)
"""Cases that only long runs have; `tests/cli/analyze/test_cloud_logs.py` reads all clouds' logs."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.long] * (case in SLOW)) for case in CASES]
)
def test_every_total_equals_the_generated_truth(spark, tmp_path, case):
    expected, request = write_fleet(CASES[case], tmp_path)
    assert expected["outcomes"]["kept"]["rows"] > 15_000
    if case in WITHOUT_SUBNETS:
        request = replace(request, subnets=())
    check_truth(spark, expected, request)


@pytest.mark.long
def test_logs_between_looks_are_counted_to_the_byte(spark, tmp_path):
    """Logs name no topic, so only the tables without topics and groups can be exact."""
    options = replace(BASE, seed=106, clusters=2, looks=3, shape=Shape.MESSY)
    expected, request = write_fleet(options, tmp_path)
    made = analyze(spark, request)
    assert made.summary["method"]["rows_in"] == expected["rows"]
    assert {one["reason"]: one["rows"] for one in made.summary["method"]["outcomes"]} == {
        outcome: sums["rows"] for outcome, sums in expected["outcomes"].items()
    }
    silver = parquet.read_table(f"{made.tables}/silver/cluster").to_pylist()
    ids = {row["name"]: row["cluster_id"] for row in silver}
    rows = parquet.read_table(f"{made.tables}/gold/cross_rack").to_pylist()
    for name, columns in {
        "by_kind": ("kind",),
        "by_kind_and_pair": ("kind", "from_rack", "to_rack"),
        "by_day": ("day",),
    }.items():
        found, wanted = Counter(), Counter()
        for row in rows:
            key = (ids[row["cluster"]], *(str(row[column]) for column in columns))
            found[key] += row["bytes"]
        for row in expected[name]:
            wanted[(row["cluster"], *(row[column] for column in columns))] += row["bytes"]
        assert found == wanted, f"law broken: {name}"


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("flow_format", FlowFormat)
def test_five_million_rows_are_counted_to_the_byte(spark, tmp_path, flow_format):
    options = FleetOptions(seed=104, flows=5_000_000, flow_format=flow_format)
    expected, request = write_fleet(options, tmp_path)
    assert expected["rows"] >= 5_000_000
    check_truth(spark, expected, request)
