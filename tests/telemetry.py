"""Telemetry messages as clients send them, for the suites of the stream."""

from __future__ import annotations

import json
from datetime import timedelta

from canonical_flows import AT, demo_flows

MINUTE_MS = 60_000
AT_MS = int(AT.timestamp() * 1000)
ROW = ("produce", "orders", 0, 1, 100)


def message(emitter="e1", *, minute=0, revision=0, rows=(ROW,), **more):
    """One message; `more`: fields that differ from a client in /eu/a of the demo cluster."""
    fields = {
        "v": 1,
        "emitter": emitter,
        "cluster": "demo",
        "window_start_ms": AT_MS + minute * MINUTE_MS,
        "window_ms": MINUTE_MS,
        "revision": revision,
        "client_id": "app",
        "client_group": None,
        "client_rack": "/eu/a",
        "rows": [list(row) for row in rows],
        "unheard_of": [1],
    }
    return json.dumps(fields | more).encode()


def arriving(values, *, topic="t", late_s=60, first=0):
    """Rows of a Kafka source: these values in one partition, so long after the first window."""
    at = AT + timedelta(seconds=late_s)
    return [
        (topic, 0, first + place, at, None if value is None else bytearray(value))
        for place, value in enumerate(values)
    ]


def stored_messages():
    """The messages that `tests/pipeline/stored_stream` was read from, in the order of sending."""
    values = [message(f"e{number}", minute=number) for number in range(4)]
    return [*values, b"no telemetry", message(v=2)]


KAFKA = "topic string, partition int, offset long, timestamp timestamp, value binary"


def demo_messages():
    """The demo's client traffic: a message a minute, each repeated and once corrected.

    Returns the values, and the canonical flows that count.
    """
    flows = [each for each in demo_flows() if each["kind"] != "replicate"]
    values, counting = [], []
    for number, each in enumerate(flows):
        emitter = f"host/{number}/0"
        own = {
            "client_rack": each.get("client_rack", "/eu/b"),
            "client_group": each.get("client_group"),
            "minute": number,
        }
        place = (each["kind"], "orders", each["partition"], each["broker_id"])
        wrong = message(emitter, rows=[(*place, 7)], **own)
        right = message(emitter, revision=1, rows=[(*place, each["bytes"])], **own)
        values += [wrong, right, right]
        counting.append(
            {
                "cluster": "demo",
                "window_start": AT + timedelta(minutes=number),
                "window_s": 60,
                "kind": each["kind"],
                "broker_id": each["broker_id"],
                "topic": "orders",
                "partition": each["partition"],
                "bytes": each["bytes"],
                "client_id": "app",
                "client_group": own["client_group"],
                "client_rack": own["client_rack"],
                "source": "telemetry",
            }
        )
    return values, counting
