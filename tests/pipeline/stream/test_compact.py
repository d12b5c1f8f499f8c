"""The bill of a day from telemetry equals that of a batch run over the same flows."""

from __future__ import annotations

import fcntl
import os

import pyarrow.parquet
import pytest

from canonical_flows import write_flows
from rackwise.adapters.files import read_published, write_snapshot
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.pipeline.stream.store import Store
from refusals import called
from small_fleets import cluster as demo_cluster
from stream_runs import Looking, was_killed
from telemetry import KAFKA, arriving, demo_messages, message

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(3000)]

TOKEN = f"{7:016x}"
DAY = "2026-11-01"
PARTS = ("bytes_local", "bytes_cross", "bytes_unknown")
LEVELS = ("--levels", "region,zone")
SAME = ("verdict", "by_topic", "by_group", "by_pair", "by_level", "by_day", "by_kind", "matrix")
"""Parts of the summary that must be equal for a day and for a batch run over its flows."""


@pytest.fixture
def stream(spark, tmp_path):
    """The demo's telemetry in two batches and its snapshot; the command that compacts it."""
    from rackwise.pipeline.stream.run import keep_batch

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


def test_two_compactions_of_one_stream_wait_for_each_other(stream, tmp_path, monkeypatch):
    folder = tmp_path / "out" / "stream"
    descriptor, warnings = os.open(folder, os.O_RDONLY), []
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    def warn(_shell, text):
        warnings.append(text)
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    monkeypatch.setattr(Shell, "warn", warn)
    assert called(*stream)[0] == 0
    os.close(descriptor)
    assert warnings == [f"waiting for another compaction in {folder}"]


def test_rows_of_clients_for_which_telemetry_has_no_column_are_reported(stream, tmp_path):
    clients = tmp_path / "clients.csv"
    clients.write_text("principal,rack\nUser:a,/eu/a\n")
    code, _, err = called(*stream, "--clients", clients)
    assert code == 0
    assert f"warning: {clients}: 1 row of principal is not used" in err


def test_the_day_equals_a_batch_run_over_the_same_flows(stream, tmp_path):
    """Law: the result of a day is that of `analyze` over the flows that count."""
    values, counting = demo_messages()
    day = document(called("--json", *stream))
    assert day["telemetry"] == {
        "messages": len(values) + 1,
        "accepted": len(counting),
        "superseded": len(counting),
        "duplicate": len(counting),
        "quarantined": 1,
        "conflicts": 0,
        "late": 0,
        "rows": len(counting),
        "bytes": sum(each["bytes"] for each in counting),
        "batches": 2,
        "reasons": {"malformed:json": 1},
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
    assert out.startswith("2026-11-01: 19 messages: 6 accepted, 6 superseded, 6 duplicate (0 in")
    assert out.splitlines()[-1] == str(home / "report.html")
    assert read_published(home).run_id == day["summary"]["run_id"]
    assert list((tmp_path / "out" / "stream").glob("_compacting-*")) == []


def billed(home):
    """The bytes of a published day in its summary and in its tables; None before publication."""
    while (home / "manifest.json").exists():
        try:
            published = read_published(home)
            table = pyarrow.parquet.read_table(home / published.tables / "gold" / "by_day")
        except OSError:
            continue  # it was taken away by the next publication
        if read_published(home).tables == published.tables:
            tables = published.summary["by_day"], table.to_pylist()
            return tuple(sum(row[name] for row in rows for name in PARTS) for rows in tables)
    return None


@pytest.fixture
def reopened(spark, stream, tmp_path):
    """A compacted day that a late message reopens: the command, the bytes before and after."""
    from rackwise.pipeline.stream.run import keep_batch

    document(called("--json", *stream))
    (before, _) = billed(tmp_path / "out" / "days" / DAY)
    late = message("late", rows=[("produce", "orders", 0, 1, 1000)])
    rows = spark.createDataFrame(arriving([late], late_s=2 * 86_400, first=90), KAFKA)
    keep_batch(rows, 2, store=Store(str(tmp_path / "out")), token=TOKEN)
    return stream, before, before + 1000


def points(home):
    """Where `compact` is killed: before every fortieth change that its driver makes on the disk,
    before every one where the tests are to be exhaustive."""
    step = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive" else 40
    return (f"write:{number}:{home}" for number in range(1, 1000, step))


@pytest.mark.fault
def test_a_killed_compaction_leaves_the_old_or_the_new_bill(reopened, tmp_path):
    """F27: a reader sees the old or the new bill; after a second run, the totals are exact."""
    command, before, after = reopened
    home = tmp_path / "out" / "days" / DAY
    old = read_published(home).tables
    with Looking(lambda: billed(home)) as reader:
        number = 0
        for point in points(tmp_path / "out"):
            if not was_killed(point, *command):
                break
            number += 1
            assert billed(home) in {(before, before), (after, after)}
    assert number >= 2
    assert reader.seen in ([(before, before)] * has + [(after, after)] for has in (0, 1))
    assert billed(home) == (after, after)
    tables = {f"tables/runs/{path.name}" for path in (home / "tables" / "runs").iterdir()}
    assert read_published(home).tables in tables
    assert tables <= {read_published(home).tables, old}  # killed as it took the old ones away
    assert list((tmp_path / "out" / "stream").glob("_compacting-*")) == []
