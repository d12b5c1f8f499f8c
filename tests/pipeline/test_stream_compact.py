"""A day's bill from telemetry: what a batch run says of the same flows."""

from __future__ import annotations

import pytest

from canonical_flows import write_flows
from rackwise.adapters.files import read_published, write_snapshot
from rackwise.adapters.files.strict_json import parse
from rackwise.core.errors import InvalidConfig
from rackwise.pipeline.stream_store import Store
from refusals import called
from small_fleets import cluster as demo_cluster
from telemetry import KAFKA, arriving, demo_messages

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(1200)]

TOKEN = f"{7:016x}"
DAY = "2026-11-01"
LEVELS = ("--levels", "region,zone")
SAME = ("verdict", "by_topic", "by_group", "by_pair", "by_level", "by_day", "by_kind", "matrix")
"""What a day's bill and a batch run over the same flows must agree on."""


@pytest.fixture
def stream(spark, tmp_path):
    """The demo's telemetry in two batches and its snapshot; the command that compacts it."""
    from rackwise.pipeline.stream import keep_batch

    values, _ = demo_messages()
    rows = arriving([*values, b"no telemetry"])
    for number, part in enumerate((rows[:7], rows[7:])):
        frame = spark.createDataFrame(part, KAFKA)
        keep_batch(frame, number, store=Store(str(tmp_path / "out")), token=TOKEN)
    write_snapshot(demo_cluster(), tmp_path / "demo.json")
    place = ["--out", str(tmp_path / "out"), "--date", DAY, *LEVELS]
    return ["stream", "compact", str(tmp_path / "demo.json"), *place]


def document(said):
    code, out, err = said
    assert code == 0, err
    return parse(out.encode(), where="stdout", error=InvalidConfig)


def test_the_day_is_that_of_a_batch_run(stream, tmp_path):
    """Law: what a stream says of a day is what `analyze` says of the flows that count."""
    values, counting = demo_messages()
    day = document(called("--json", *stream))
    assert day["telemetry"] == {
        "messages": len(values),
        "accepted": len(counting),
        "superseded": len(counting),
        "duplicate": len(counting),
        "too_late": 0,
        "conflicts": 0,
        "late": 0,
        "quarantined": 1,
        "rows": len(counting),
        "bytes": sum(each["bytes"] for each in counting),
        "batches": 2,
    }
    flows = write_flows(tmp_path / "flows", counting)
    words = [
        "--flows",
        flows,
        "--flow-format",
        "canonical",
        "--out",
        str(tmp_path / "batch"),
        *LEVELS,
    ]
    batch = document(called("--json", "analyze", str(tmp_path / "demo.json"), *words))
    assert {name: day["summary"][name] for name in SAME} == {name: batch[name] for name in SAME}
    home = tmp_path / "out" / "days" / DAY
    assert read_published(home).summary == day["summary"]
    code, out, _ = called(*stream)
    assert code == 0
    assert out.startswith("2026-11-01: 18 messages: 6 accepted, 6 superseded, 6 duplicate (0 in")
    assert out.splitlines()[-1] == str(home / "report.html")
    assert read_published(home).run_id == day["summary"]["run_id"]
    assert list((tmp_path / "out" / "stream").glob("_compacting-*")) == []
