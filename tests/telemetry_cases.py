"""Messages of every kind with the reason of each, and batches of them as a task gets them."""

from __future__ import annotations

import pyarrow as pa

from telemetry import ROW, arriving, message

HUGE = b'{"v":1,"x":"' + b"x" * (1 << 20) + b'"}'

REASONS = [
    (message(), "kept"),
    (message(rows=[]), "kept"),
    (message(rows=[("fetch", None, None, 1, 0)]), "kept"),
    (message(revision=None), "kept"),
    (HUGE, "malformed:size"),
    (None, "malformed:json"),
    (b"", "malformed:json"),
    (b"\xff\xfe", "malformed:json"),
    (message().replace(b'"e1"', b'"e\xff"'), "malformed:json"),
    (b'{"v":1', "malformed:json"),
    (b"[1]", "malformed:json"),
    (message(v="one"), "malformed:json"),
    (message(v=2), "malformed:version"),
    (message(""), "malformed:emitter"),
    (message(cluster=None), "malformed:cluster"),
    (message(window_start_ms=-1), "malformed:window_start_ms"),
    (message(window_start_ms=None), "malformed:window_start_ms"),
    (message(window_start_ms=-(2**63), window_ms=2**63 - 1), "malformed:window_start_ms"),
    (message(window_ms=0), "malformed:window_ms"),
    (message(window_ms=86_400_001), "malformed:window_ms"),
    (message(revision=-1), "malformed:revision"),
    (message(rows=[ROW, ROW[:4]]), "malformed:rows"),
    (message().replace(b'"rows": [[', b'"rows": [null, ['), "malformed:rows"),
    (message(rows=[("steal", *ROW[1:])]), "malformed:kind"),
    (message(rows=[(None, *ROW[1:])]), "malformed:kind"),
    (message(rows=[(*ROW[:2], -1, 1, 1)]), "malformed:partition"),
    (message(rows=[(*ROW[:3], None, 1)]), "malformed:broker_id"),
    (message(rows=[(*ROW[:3], 2**31, 1)]), "malformed:broker_id"),
    (message(rows=[(*ROW[:4], -5)]), "malformed:bytes"),
    (message(rows=[(*ROW[:4], 1.5)]), "malformed:bytes"),
    (message(rows=[(*ROW[:4], 2**63)]), "malformed:bytes"),
    (message(minute=-3 * 24 * 60), "kept"),
    (message(minute=-3 * 24 * 60 - 1), "too-late"),
]


def swapped(old, new):
    """The message with other bytes in it."""
    before = message()
    assert old in before
    return before.replace(old, new)


CORNERS = [
    (message() + b" \n", "kept"),
    (swapped(b'"unheard_of": [1]', b'"unheard_of": NaN'), "kept"),
    (message(rows=[("fetch", 7, "0", "007", "100")]), "kept"),
    (message(rows=[("fetch", {"a": 1}, None, 1, 0)]), "kept"),
    (message("e\ud800"), "kept"),
    (message(12), "kept"),
    (swapped(b'"v": 1', b'"v": 2, "v": 1'), "kept"),
    (message(window_start_ms=-5, window_ms=None), "malformed:window_start_ms"),
    (message() + b"x", "malformed:json"),
    (message() + message(), "malformed:json"),
    (message().replace(b'"', b"'"), "malformed:json"),
    (b"\xef\xbb\xbf" + message(), "malformed:json"),
    (message().decode().encode("utf-16"), "malformed:json"),
    (b"[" * 100_000, "malformed:json"),
    (swapped(b'"unheard_of": [1]', b'"unheard_of": ' + b"9" * 5000), "malformed:json"),
    (b"null", "malformed:json"),
    (message(v=True), "malformed:json"),
    (message(v=1.0), "malformed:json"),
    (message(window_ms="60000"), "malformed:json"),
    (message(window_ms=2**63), "malformed:json"),
    (message(revision=2**31), "malformed:json"),
    (swapped(b'"rows": [[', b'"rows": [{}, ['), "malformed:json"),
    (swapped(b'"rows": [', b'"rows": {"a": [').replace(b"]]", b"]]}"), "malformed:json"),
    (message(rows=[(True, *ROW[1:])]), "malformed:kind"),
    (message(rows=[(*ROW[:3], True, 1)]), "malformed:broker_id"),
    (message(rows=[(*ROW[:4], "٣")]), "malformed:bytes"),
    (message(rows=[(*ROW[:4], "1\n")]), "malformed:bytes"),
    (message(rows=[(*ROW[:4], "9" * 5000)]), "malformed:bytes"),
    (message(rows=[(*ROW[:4], -1), ("steal", *ROW[1:]), ROW]), "malformed:kind"),
    (message(window_start_ms=253_402_300_800_001), "malformed:window_start_ms"),
    ("é€😀".encode() * 200_000, "malformed:size"),
]


def kafka_batch(values):
    """What a task gets for these values, each in a row of its own."""
    topics, partitions, offsets, arrived, _ = zip(*arriving(values), strict=True)
    sizes = [len(value or b"") <= 1 << 20 for value in values]
    return pa.RecordBatch.from_pydict(
        {
            "kafka_topic": topics,
            "kafka_partition": pa.array(partitions, pa.int32()),
            "kafka_offset": offsets,
            "arrived": pa.array(arrived, pa.timestamp("us", tz="UTC")),
            "value": pa.array(values, pa.binary()),
            "is_small": sizes,
        }
    )
