"""Rate tables as Parquet: the columns of the CSV, integers for rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from rackwise.core.errors import InvalidRates
from rackwise.core.text import escaped
from rackwise.core.traffic import RateRow

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("cluster", "topic", "client_group")
RATES = ("bytes_in_per_s", "bytes_out_per_s")
REQUIRED = ("cluster", "topic")


def parse_rate_parquet(data: bytes, *, where: str) -> tuple[RateRow, ...]:
    """The rows of the content of a Parquet file; `where` names it in messages.

    Raises `InvalidRates` for what is no Parquet, a missing column, or one of another type.
    """
    try:
        table = parquet.read_table(pa.BufferReader(data))
    except pa.ArrowInvalid:
        raise _wrong(where, "Parquet", f"it begins {data[:4]!r}", "write CSV, or Parquet") from None
    for name in REQUIRED:
        if name not in table.column_names:
            had = ", ".join(map(escaped, table.column_names))
            raise _wrong(where, f"a column {name}", f"it has {had}", "add the column")
    kept = [name for name in (*NAMES, *RATES) if name in table.column_names]
    for name in kept:
        _check(table.schema.field(name), where)
    return tuple(
        _row(row, number, where) for number, row in enumerate(table.select(kept).to_pylist())
    )


def _check(field: Any, where: str) -> None:  # noqa: ANN401 (pyarrow has no types)
    is_fit: Callable[[Any], bool] = pa.types.is_integer if field.name in RATES else _is_text
    if not is_fit(field.type):
        wanted = "integers" if field.name in RATES else "text"
        raise _wrong(where, f"{wanted} in column {field.name}", f"it has {field.type}", "cast it")


def _is_text(kind: Any) -> bool:  # noqa: ANN401
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _row(row: dict[str, Any], number: int, where: str) -> RateRow:
    for name in REQUIRED:
        if row[name] is None:
            raise _wrong(f"{where}: row {number}", f"a {name}", "it is null", "name it")
    return RateRow(**row)


def _wrong(where: str, wanted: str, had: str, hint: str) -> InvalidRates:
    return InvalidRates(
        f"{escaped(where)}: {wanted} is wanted; {had}",
        wanted=wanted,
        had=had,
        hint=hint,
        where=where,
    )
