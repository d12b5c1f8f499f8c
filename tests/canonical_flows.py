"""Flows in the canonical format as Parquet files, for the suites of the pipeline."""

from __future__ import annotations

from datetime import UTC, datetime

from small_fleets import GIB

AT = datetime(2026, 11, 1, tzinfo=UTC)
COLUMNS = {
    "cluster": "string",
    "window_start": "time",
    "window_s": "int32",
    "kind": "string",
    "client_address": "string",
    "client_id": "string",
    "client_group": "string",
    "client_rack": "string",
    "broker_id": "int32",
    "peer_broker_id": "int32",
    "topic": "string",
    "partition": "int32",
    "bytes": "int64",
    "source": "string",
}


def flow(kind, broker, bytes_, **more):
    """One row; `more`: the fields that differ from a day of topic `orders` of the demo cluster."""
    return {
        "cluster": "demo",
        "window_start": AT,
        "window_s": 86_400,
        "kind": kind,
        "broker_id": broker,
        "topic": "orders",
        "bytes": bytes_,
        "source": "otlp",
    } | more


def demo_flows():
    """A producer in a writes 3 GiB to each partition; readers are in b, a and c."""
    for number, (leader, follower) in enumerate(((1, 2), (2, 3), (3, 1))):
        reader = f"10.1.0.{(2, 1, 3)[number]}"
        place = {"partition": number}
        yield flow("produce", leader, 3 * GIB, client_rack="/eu/a", **place)
        yield flow("replicate", leader, 3 * GIB, peer_broker_id=follower, **place)
        yield flow("fetch", leader, 3 * GIB, client_address=reader, client_group="readers", **place)


def write_flows(folder, rows, name="flows.parquet"):
    """Write rows to a file in a new folder; returns its path."""
    import pyarrow as pa
    from pyarrow import parquet

    types = {"time": pa.timestamp("us", tz="UTC")}
    schema = pa.schema(
        [(name, types.get(kind) or pa.type_for_alias(kind)) for name, kind in COLUMNS.items()]
    )
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(list(rows), schema=schema), folder / name)
    return str(folder / name)
