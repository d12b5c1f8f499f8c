"""Telemetry messages as rows: one reason each, whatever a client sends."""

from __future__ import annotations

import pytest

from rackwise.pipeline.stream.messages import MESSAGES, kafka_columns, parse
from telemetry import AT_MS, KAFKA, ROW, arriving, message
from telemetry_cases import CORNERS, REASONS, kafka_batch

DAY_NUMBER = 20758


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_each_message_has_one_reason(size):
    """Whatever else is in the batch."""
    cases = REASONS + CORNERS
    found = []
    for start in range(0, len(cases), size):
        batch = kafka_batch([value for value, _ in cases[start : start + size]])
        found += parse(batch).to_pylist()
    for row, (value, reason) in zip(found, cases, strict=True):
        assert row["reason"] == reason, value
        assert (row["rows"] is None) == (reason != "kept")
        assert (row["raw"] is None) == (value is None or reason == "kept")
        assert row["raw"] is None or len(row["raw"]) <= 4096


def test_values_of_other_types_are_texts_or_null():
    sent = [
        message(12, client_id=True, rows=[("fetch", {"a": [1, None]}, "0", "007", "100")]),
        message("e\ud800", client_rack="\ud800"),
        message(v="one", cluster=["é"], window_ms="60000", revision=None),
    ]
    number, half, other = parse(kafka_batch(sent)).to_pylist()
    assert (number["emitter"], number["client_id"]) == ("12", "true")
    assert [tuple(row.values()) for row in number["rows"]] == [
        ("fetch", '{"a":[1,null]}', 0, 7, 100)
    ]
    assert (half["emitter"], half["client_rack"], half["reason"]) == ("e?", "?", "kept")
    assert (other["emitter"], other["cluster"], other["revision"]) == ("e1", '["é"]', 0)
    assert (other["window_ms"], other["window_start_ms"]) == (None, AT_MS)


def test_a_batch_without_messages_has_no_rows():
    batch = kafka_batch([message()]).slice(0, 0)
    assert parse(batch).num_rows == 0


@pytest.mark.spark
@pytest.mark.connect
def test_spark_gives_the_tasks_each_message(spark):
    """Also the place of each message, and only the start of one that is too large."""
    values = [value for value, _ in REASONS]
    kafka = spark.createDataFrame(arriving(values), KAFKA)
    found = kafka_columns(kafka).mapInArrow(lambda batches: map(parse, batches), MESSAGES)
    assert found.columns == MESSAGES.names
    rows = sorted(found.collect(), key=lambda row: row.kafka_offset)
    assert [row.reason for row in rows] == [reason for _, reason in REASONS]
    assert [row.raw is not None for row in rows] == [
        value is not None and reason != "kept" for value, reason in REASONS
    ]
    assert max(len(row.raw) for row in rows if row.raw) == 4096
    assert {row.day for row in rows[:-2]} == {DAY_NUMBER}
    assert [row.day for row in rows[-2:]] == [DAY_NUMBER - 3, DAY_NUMBER]
    first = rows[0]
    assert (first.emitter, first.window_start_ms, first.client_rack) == ("e1", AT_MS, "/eu/a")
    assert [tuple(row) for row in first.rows] == [ROW]
