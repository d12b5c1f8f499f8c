"""Facts of every format: packed in numpy, and unpacked into the columns of a table.

A fact is built in numpy, batch by batch, and leaves Python as a few longs. Small values are packed
into `key1`, `key2` and so on (see `packing`); the other values are `LONGS`. `Persist` may store
such rows. Spark computes the columns of `schemas.FLOW_FACT` when it writes the table.

What this does not do: decide about the rows of one format (`vpc_facts`, `canonical_facts`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from rackwise.pipeline.columns.addresses import AddressReader
from rackwise.pipeline.columns.arrays import as_batch, with_nulls
from rackwise.pipeline.columns.clock import DAY_S, day_number
from rackwise.pipeline.columns.packing import key_names, unpacked
from rackwise.pipeline.ingest.row_outcomes import KEPT
from rackwise.pipeline.schemas import FLOW_FACT, KINDS, LONGEST_TEXT, QUALITIES, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.columns.arrays import Reasons
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.members import ClientRacks
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.vpc_duplicates import Side
    from rackwise.pipeline.runtime.engine import Engine, Rows

Persist: TypeAlias = "Callable[[DataFrame, str], DataFrame]"
"""Takes rows and a name for them, and returns the same rows; it may store them."""

LONGS = ("client_ip", "bytes", "packets")
"""Columns of a fact that do not fit into a packed key."""
PLACE = ("source_file", "row_offset", "raw")
"""Columns that identify the input row of a fact."""


def fact_bits(fleet: Fleet) -> dict[str, int]:
    """Field of a packed fact -> its width in bits."""
    racks, brokers = len(fleet.names.racks).bit_length(), len(fleet.names.brokers).bit_length()
    return {
        "kind": (len(KINDS) - 1).bit_length(),
        "quality": (len(QUALITIES) - 1).bit_length(),
        "window_s": DAY_S.bit_length(),
        "cluster": len(fleet.names.clusters).bit_length(),
        "broker": brokers,
        "broker_rack": racks,
        "peer": brokers,
        "peer_rack": racks,
        "client_rack": racks,
    }


def short_texts(rows: DataFrame) -> DataFrame:
    """The same rows, with texts cut to `LONGEST_TEXT` characters.

    A batch holds thousands of texts, so one text without limit could exhaust the memory. Look-ups
    of names cut them in the same way, so that equal names stay equal.
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


def packed_columns(bits: Mapping[str, int], more: Iterable[StructField]) -> StructType:
    """The columns that leave Python: a packed fact, its reason, and the place of its row.

    `file` is the number of the file (see `files.with_file_numbers`).
    """
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


def fact_columns(bits: Mapping[str, int], computed: Mapping[str, Column]) -> list[Column]:
    """The columns of `schemas.FLOW_FACT`: computed, unpacked, or existing by name."""
    known = {**unpacked(bits), **computed}
    return [
        known.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
        for field in FLOW_FACT.fields
    ]


def without_equal_rows(facts: DataFrame) -> DataFrame:
    """Of kept rows that are equal in `same`, the first stays; the others get `duplicate-row`."""
    same = Window.partitionBy("reason", "same").orderBy("source_file", "row_offset")
    is_again = (F.col("reason") == KEPT) & (F.row_number().over(same) > 1)
    return facts.withColumn("reason", F.when(is_again, "duplicate-row").otherwise(F.col("reason")))


@dataclass(frozen=True, slots=True, kw_only=True)
class FactInput:
    """Rows of a format, and what turns them into facts."""

    rows: Rows
    """What the builder reads, with numbers of files; None if tasks read all files."""
    builder: FactBuilder
    uris: tuple[str, ...]
    """The files with a number."""
    constants: Mapping[str, int | None]
    """Columns of FLOW_FACT that the builder does not give, and their value in all rows."""
    side: Side | None = None
    """Which of two logs of a flow counts; None if a flow has one log."""
    has_directions: bool | None = True
    """Whether every row with data says which side logged it; None = only the rows can tell."""
    compares_rows: bool = False
    """Whether a row that equals another one is not counted."""
    is_by_file: bool = True
    """Whether the rows are those of the files, if these are Parquet."""
    deals_text: bool = False
    """Whether text files are flow logs with a header, which tasks read (`text_lines`)."""

    @property
    def needs_rows(self) -> bool:
        """Whether rows cannot be added up one by one, as far as is known."""
        return self.compares_rows or self.has_directions is False

    def columns(self, more: Mapping[str, Column]) -> list[Column]:
        """The columns of FLOW_FACT, of the results of the builder; `more`: further columns."""
        constants = {name: F.lit(value) for name, value in self.constants.items()}
        return fact_columns(self.builder.bits, {**constants, **more})


@dataclass(frozen=True, slots=True, kw_only=True)
class FactBuilder(ABC):
    """Turns batches of bronze rows into batches of facts; Spark sends it to the workers."""

    coded: ClassVar[tuple[str, ...]] = ()
    """Columns that `build` also takes as codes of their distinct texts."""
    numbers: ClassVar[tuple[str, ...]] = ()
    """Columns that `build` takes as integers or as texts."""
    client_racks: ClientRacks
    days: tuple[date, date] | None
    """First and last day to keep, both included; None keeps all days."""
    bits: Mapping[str, int]
    """Field -> width in bits, see `packing`."""
    needed: StructType
    """Columns that are read; one that a batch lacks is null in all its rows."""
    columns: StructType
    """Columns of the result, see `packed_columns`."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A batch of facts for each batch of rows."""
        reader = AddressReader()
        needed, result = (arrow_schema(columns) for columns in (self.needed, self.columns))
        for batch in batches:
            facts = self.build(with_nulls(batch, needed), reader)
            yield as_batch(facts, result, batch.num_rows)

    def after_first_pass(self, engine: Engine, files: Sequence[FlowFile]) -> FactBuilder:  # noqa: ARG002
        """A builder that knows what the facts of a row need of all files, which tasks can open.

        An action if a first pass over the files is needed.
        """
        return self

    @abstractmethod
    def build(self, batch: pa.RecordBatch, reader: AddressReader) -> dict[str, pa.Array]:
        """The columns of the batch's facts; a column that is left out is null."""

    @abstractmethod
    def starts(self, facts: Mapping[str, pa.Array]) -> pa.Array:
        """The start of each of these facts, in epoch seconds; null if it is not known."""

    def add_other_day(self, reasons: Reasons, start: NDArray[np.int64]) -> None:
        """Add `other-day` to rows whose start, in epoch seconds, is outside the days to keep."""
        if self.days is not None:
            first, last = map(day_number, self.days)
            reasons.add("other-day", (start < first * DAY_S) | (start >= (last + 1) * DAY_S))
