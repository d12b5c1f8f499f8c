"""Reads rate tables as Parquet, with the columns and rules of the CSV and integers for rates.

A row has a cluster, a topic and at least one rate. A row with a group has the rate at which the
group reads, and a row without a group does not. Messages name rows by number, starting at 0.

What this does not do: combine rows of one topic (`core.traffic.rates_of` does this).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from rackwise.core.errors import InvalidRates
from rackwise.core.text import escaped
from rackwise.core.traffic import RateRow
from rackwise.pipeline.runtime.child_process import ReaderEnded, in_child
from rackwise.pipeline.runtime.failures import failure_line

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("cluster", "topic", "client_group")
RATES = ("bytes_in_per_s", "bytes_out_per_s")
REQUIRED = ("cluster", "topic")
MAGIC = b"PAR1"


class UnreadableRates(Exception):
    """pyarrow cannot read the content; its text has the reason."""


def parse_rate_parquet(data: bytes, *, where: str) -> tuple[RateRow, ...]:
    """The rows of the content of a Parquet file; `where` names it in messages.

    Raises `InvalidRates` if the content is not Parquet, if a column is missing or has another type,
    or if a row is not a valid rate.
    """
    try:
        table = pa.Table.from_batches(in_child(lambda _: _batches(data), UnreadableRates))
        _check_columns(table, where)
        rows = table.select(_known_columns(table)).to_pylist()
    except MemoryError:
        raise
    except (UnreadableRates, ReaderEnded, pa.ArrowException, UnicodeDecodeError) as error:
        had = f"an error from pyarrow: {failure_line(error)}"
        if not data.startswith(MAGIC):
            had = f"a file that begins with {data[:4]!r}"
        raise _wrong(where, "Parquet", had, "write CSV or Parquet") from None
    return tuple(_row(row, number, where) for number, row in enumerate(rows))


def _batches(data: bytes) -> list[pa.RecordBatch]:
    """The rows, in one batch or more."""
    try:
        table = parquet.read_table(pa.BufferReader(data))
        empty = pa.RecordBatch.from_pylist([], schema=table.schema)
    except MemoryError:  # Arrow's is an ArrowException, too
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UnreadableRates(str(error)) from None
    return [empty, *table.to_batches()]


def _known_columns(table: pa.Table) -> list[str]:
    return [name for name in (*NAMES, *RATES) if name in table.column_names]


def _check_columns(table: pa.Table, where: str) -> None:
    for name in REQUIRED:
        if name not in table.column_names:
            had = ", ".join(map(escaped, table.column_names))
            raise _wrong(where, f"a column {name}", had, "add the column")
    for name in _known_columns(table):
        _check(table.schema.field(name), where)


def _check(field: Any, where: str) -> None:  # noqa: ANN401 (pyarrow has no types)
    is_fit: Callable[[Any], bool] = pa.types.is_integer if field.name in RATES else _is_text
    if not is_fit(field.type):
        wanted = "an integer" if field.name in RATES else "text"
        raise _wrong(where, f"{wanted} in column {field.name}", str(field.type), "cast the column")


def _is_text(kind: Any) -> bool:  # noqa: ANN401
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _row(row: dict[str, Any], number: int, where: str) -> RateRow:
    place = f"{where}: row {number}"
    for name in REQUIRED:
        if not row[name]:
            raise _wrong(place, f"a {name} name", "null or nothing", f"fill in {name}")
    ins, outs, group = (row.get(name) for name in (*RATES, "client_group"))
    if ins is None and outs is None:
        raise _wrong(place, "bytes_in_per_s or bytes_out_per_s", "null in both", "fill in a rate")
    if bool(group) != (outs is not None):
        name = "bytes_out_per_s" if group else "client_group"
        hint = "fill in both client_group and bytes_out_per_s, or neither"
        raise _wrong(place, f"a value in {name}", "null or nothing", hint)
    return RateRow(
        cluster=row["cluster"],
        topic=row["topic"],
        bytes_in_per_s=ins,
        client_group=group or None,
        bytes_out_per_s=outs,
    )


def _wrong(where: str, wanted: str, had: str, hint: str) -> InvalidRates:
    return InvalidRates(
        f"{escaped(where)}: expected {wanted}, got {had}",
        wanted=wanted,
        had=had,
        hint=hint,
        where=where,
    )
