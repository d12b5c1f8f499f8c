"""The gold tables of a bill, written from the results of all clusters.

What this does not do: compute a result (`results`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rackwise.core.history import covered_time
from rackwise.pipeline import schemas
from rackwise.pipeline.bill.model import ROLL_UPS, Bill, Standing
from rackwise.pipeline.bill.roll_ups import MATRIX_KEYS, STANDING, ordered
from rackwise.pipeline.bill.standing import price_rows
from rackwise.pipeline.columns.table_rows import TableRows
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from pyspark.sql.types import StructType

    from rackwise.core.history import StandingDay
    from rackwise.core.traffic import Price
    from rackwise.pipeline.runtime.engine import Engine


SCHEMAS = {
    "by_topic": schemas.BY_TOPIC,
    "by_group": schemas.BY_GROUP,
    "by_owner": schemas.BY_OWNER,
    "by_pair": schemas.BY_PAIR,
    "by_level": schemas.BY_LEVEL,
    "by_day": schemas.BY_DAY,
    "by_kind": schemas.BY_KIND,
}


def standing_rows(parts: Sequence[pa.Table]) -> list[Standing]:
    """The bytes and dollars of all days, in the order of `STANDING`."""
    rows = [row for part in parts for row in part.to_pylist()]

    def place(row: Mapping[str, Any]) -> list[tuple[bool, Any]]:
        return [(row[name] is not None, row[name]) for name in STANDING]  # None comes first

    return [Standing(**row) for row in sorted(rows, key=place)]


def bill(
    engine: Engine,
    found: Mapping[str, Sequence[pa.Table]],
    *,
    days: Sequence[StandingDay],
    precedence: Sequence[tuple[str, date, str, str]],
    prices: Sequence[Price],
    folder: str,
) -> Bill:
    """Writes the roll-ups of CROSS_RACK below `folder`; returns the values for the summary.

    `found`: the result of `all_results`; `days`: those of the result; `precedence`: of this run.
    """
    roll_ups = {
        name: _write(engine, _ranked(found, name), SCHEMAS[name], f"{folder}/{name}")
        for name in ROLL_UPS
    }
    pairs = _joined(found.get("matrix", ()), schemas.MATRIX)
    pairs = pairs.sort_by([(name, "ascending") for name in MATRIX_KEYS])
    own_standings = standing_rows(found.get("standing", ()))
    used = {one.price_row for one in own_standings}
    used_prices = price_rows(price for price in prices if price.row in used)
    save_rows(engine, used_prices, f"{folder}/price", schemas.PRICE)
    saved = [row for part in found.get("savings", ()) for row in part.to_pylist()]
    saved.sort(key=lambda row: str(row["cluster"]))
    save_rows(engine, saved, f"{folder}/savings", schemas.SAVINGS)
    covered = covered_time(days)
    if covered is None:
        raise ValueError("a bill without days")
    return Bill(
        standings=own_standings,
        roll_ups=roll_ups,
        matrix=_write(engine, pairs, schemas.MATRIX, f"{folder}/matrix"),
        precedence=precedence,
        period=covered[:2],
        seconds=covered[2],
        prices=prices,
        savings=saved,
    )


def _ranked(found: Mapping[str, Sequence[pa.Table]], name: str) -> pa.Table:
    """The rows of a roll-up in order; none if no cluster has traffic."""
    if parts := found.get(name):
        return ordered(parts, ROLL_UPS[name])
    return arrow_schema(SCHEMAS[name]).empty_table()


def _joined(parts: Sequence[pa.Table], schema: StructType) -> pa.Table:
    empty = arrow_schema(schema).empty_table()
    names = empty.column_names
    return pa.concat_tables([empty, *(part.select(names).cast(empty.schema) for part in parts)])


def save_rows(
    engine: Engine, rows: Iterable[Mapping[str, Any]], path: str, schema: StructType
) -> None:
    """Write rows of the driver as `Engine.save` does."""
    table = pa.Table.from_pylist(list(rows), schema=arrow_schema(schema))
    engine.save(table, path, schema)


def _write(engine: Engine, table: pa.Table, schema: StructType, path: str) -> TableRows:
    """Writes the columns of `schema` of a table and returns its rows."""
    kept = table.select(schema.fieldNames())
    engine.save(kept, path, schema)
    return TableRows(kept)
