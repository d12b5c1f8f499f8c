"""What `analyze` tells of generated files is their truth, to the byte and the nano-dollar."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from rackwise.core.fleet import FleetOptions, FlowFormat, Shape
from rackwise.core.racks import Rack
from rackwise.pipeline.job import analyze
from truths import check_truth, request_of, write_fleet

pytestmark = pytest.mark.spark

DEMO = Path(__file__).parents[2] / "examples" / "demo"

BASE = FleetOptions(brokers=9, topics=30, flows=20_000, bad_rows=0.01, ipv6=0.1)
CASES = {
    "Parquet of version 5": replace(BASE, seed=101, shape=Shape.MESSY),
    "Parquet of version 2, two clusters, two days": replace(
        BASE, seed=102, log_version=2, clusters=2, days=2, shape=Shape.LOST
    ),
    "text of version 5": replace(
        BASE, seed=103, flow_format=FlowFormat.VPC_TEXT, racks=(Rack("a"), Rack("b"), Rack("c"))
    ),
    "text of version 2": replace(
        BASE, seed=104, flow_format=FlowFormat.VPC_TEXT, log_version=2, shape=Shape.RANDOM
    ),
    "canonical": replace(BASE, seed=105, flow_format=FlowFormat.CANONICAL, clusters=2),
}


@pytest.mark.parametrize("case", CASES)
def test_every_total_is_the_truth(spark, tmp_path, case):
    told, request = write_fleet(CASES[case], tmp_path)
    assert told["fates"]["kept"]["rows"] > 15_000
    check_truth(spark, told, request)


def test_the_bundled_day_is_told_to_the_byte(spark, tmp_path):
    told, request = request_of(DEMO)
    assert told["rows"] == 42_000
    check_truth(spark, told, replace(request, tables=str(tmp_path / "tables")))


def test_days_that_are_not_asked_for_are_counted_and_left_out(spark, tmp_path):
    options = replace(BASE, seed=106, days=3, flows=3000, bad_rows=0)
    told, request = write_fleet(options, tmp_path)
    day = date(2026, 11, 22)
    made = analyze(spark, replace(request, first_day=day, last_day=day))
    (wanted,) = (entry for entry in told["by_day"] if entry["day"] == "2026-11-22")
    fates = {one["reason"]: one["rows"] for one in made.summary["method"]["fates"]}
    assert made.summary["verdict"]["usd"] == wanted["usd"]
    assert made.summary["verdict"]["bytes_total"] == wanted["bytes"]
    assert fates["other-day"] > fates["kept"]
    assert sum(fates.values()) == told["rows"]
