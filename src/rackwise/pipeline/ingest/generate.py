"""Formats generated flow files as Parquet, without a Spark session and without Java.

The types are those of VPC flow logs and of the canonical format: 32-bit ports and counts, 64-bit
sizes and epoch seconds, timestamps in UTC. Values are not checked, because some rows are malformed
on purpose.

What this does not do: generate values (see `core.fleet`); write files (see the adapters).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from rackwise.core.fleet import FlowNumberColumn, FlowTextColumn

if TYPE_CHECKING:
    from rackwise.core.fleet import GeneratedFile

INTS = frozenset(
    {
        *("version", "srcport", "dstport", "protocol", "tcp_flags", "traffic_path"),
        *("window_s", "broker_id", "peer_broker_id", "partition", "revision"),
    }
)
"""Columns of 32 bits; other numbers have 64 bits."""
SECOND_US = 1_000_000


def flow_parquet(file: GeneratedFile) -> bytes:
    """The bytes of one Parquet file of flows. Equal flows give equal bytes."""
    table = pa.table({name: _array(name, column) for name, column in file.columns.items()})
    out = pa.BufferOutputStream()
    parquet.write_table(table, out, compression="zstd")
    data: bytes = out.getvalue().to_pybytes()
    return data


def _array(name: str, column: FlowTextColumn | FlowNumberColumn) -> pa.Array:
    if isinstance(column, FlowTextColumn):
        return pa.array(column.words, pa.string()).take(
            pa.array(column.codes, mask=column.codes < 0)
        )
    if column.is_time:
        micros = pa.array(column.values * SECOND_US, mask=column.is_missing)
        return micros.cast(pa.timestamp("us", tz="UTC"))
    values = pa.array(column.values, mask=column.is_missing)
    return values.cast(pa.int32()) if name in INTS else values
