"""What facts of every format have in common: how they travel from Python and become columns.

A fact is judged in numpy, batch by batch, and leaves Python as few longs: what of it is small lies
side by side in `key1` and its like (see `packing`), the rest are `LONGS`. Such rows are what `Once`
may store; the columns of `schemas.FLOW_FACT` are made where they are written.

What this does not do: judge rows of one format (`log_facts`, `input_facts`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from rackwise.pipeline.columns.addresses import AddressReader
from rackwise.pipeline.columns.arrays import as_batch, with_nulls
from rackwise.pipeline.columns.clock import DAY_S, day_number
from rackwise.pipeline.columns.packing import key_names, unpacked
from rackwise.pipeline.schemas import ESTIMATED, FLOW_FACT, KINDS, LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import date

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.columns.arrays import Reasons
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.members import ClientRacks

Once: TypeAlias = "Callable[[DataFrame, str], DataFrame]"

LONGS = ("client_ip", "bytes", "packets")
"""Columns of a fact that are large."""
PLACE = ("source_file", "row_offset", "raw")


def as_planned(df: DataFrame, name: str) -> DataFrame:  # noqa: ARG001 (the shape of `Once`)
    """Nothing is stored: Spark plans, and computes, the rows wherever they are needed."""
    return df


def fact_bits(fleet: Fleet) -> dict[str, int]:
    """What of a fact is small and travels in few longs."""
    racks, brokers = len(fleet.names.racks).bit_length(), len(fleet.names.brokers).bit_length()
    return {
        "kind": (len(KINDS) - 1).bit_length(),
        "quality": ESTIMATED.bit_length(),
        "window_s": DAY_S.bit_length(),
        "cluster": len(fleet.names.clusters).bit_length(),
        "broker": brokers,
        "broker_rack": racks,
        "peer": brokers,
        "peer_rack": racks,
        "client_rack": racks,
    }


def short_texts(rows: DataFrame) -> DataFrame:
    """The same rows, their texts cut: a batch of them is thousands of times as long as a text.

    Whoever looks names up has them cut alike, so that one name stays one.
    """
    return rows.select(
        *(
            F.when(F.octet_length(field.name) <= LONGEST_TEXT, F.col(field.name))
            .otherwise(F.left(field.name, F.lit(LONGEST_TEXT)))
            .alias(field.name, metadata=field.metadata)
            if isinstance(field.dataType, StringType)
            else F.col(field.name)
            for field in rows.schema.fields
        )
    )


def judged_columns(bits: Mapping[str, int], more: Iterable[StructField]) -> StructType:
    """What leaves Python: a packed fact, its fate, its place (see `files.with_file_numbers`)."""
    return StructType(
        [
            *(StructField(name, LongType()) for name in (*key_names(bits), *LONGS)),
            StructField("reason", StringType()),
            StructField("file", IntegerType()),
            StructField("source_file", StringType()),
            StructField("row_offset", LongType()),
            StructField("raw", StringType()),
            *more,
        ]
    )


def fact_columns(bits: Mapping[str, int], made: Mapping[str, Column]) -> list[Column]:
    """The columns of `schemas.FLOW_FACT`: made, packed, or there by name."""
    known = {**unpacked(bits), **made}
    return [
        known.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
        for field in FLOW_FACT.fields
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(ABC):
    """What turns batches of bronze rows into batches of facts; it travels to the workers.

    `days`: first and last day to keep, both kept. `bits`: see `packing`. `asked`: columns that are
    judged, null in all rows where a batch does not have one. `columns`: see `judged_columns`.
    """

    client_racks: ClientRacks
    days: tuple[date, date] | None
    bits: Mapping[str, int]
    asked: StructType
    columns: StructType

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of facts, one of each."""
        reader = AddressReader()
        asked, made = (
            to_arrow_schema(columns, timezone="UTC") for columns in (self.asked, self.columns)
        )
        for batch in batches:
            judged = self.judged(with_nulls(batch, asked), reader)
            yield as_batch(judged, made, batch.num_rows)

    @abstractmethod
    def judged(self, batch: pa.RecordBatch, reader: AddressReader) -> dict[str, pa.Array]:
        """The columns of the batch's facts; one that is not there is null."""

    def add_other_day(self, reasons: Reasons, start: NDArray[np.int64]) -> None:
        """The reason of rows that start, as epoch seconds, outside the days to keep."""
        if self.days is not None:
            first, last = map(day_number, self.days)
            reasons.add("other-day", (start < first * DAY_S) | (start >= (last + 1) * DAY_S))
