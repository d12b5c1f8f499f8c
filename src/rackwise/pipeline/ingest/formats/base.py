"""The interface of a flow format: what its files are, and how they become facts.

Formats import PySpark inside their methods, so that the command line can list them without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rackwise.core.racks import Rack
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import FactInput, Persist
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.names import FoundNames
    from rackwise.pipeline.ingest.text_lines import TextHead
    from rackwise.pipeline.ingest.vpc_duplicates import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class FactOptions:
    """How rows become facts, for all formats."""

    side: Side = "auto"
    """Which of two logs of one flow counts; only flow logs are written on both sides."""
    days: tuple[date, date] | None = None
    """First and last day to keep, both included; None keeps all days."""
    clients: Mapping[str, Mapping[str, Rack]] = field(default_factory=dict)
    """`client_id`, `client_group` or `principal` -> name -> rack."""
    is_exact: bool = False
    """Whether facts need the column `same`, which is equal for equal rows."""
    persist: Persist | None = None
    """Stores rows that several lookups read; None = Spark computes them for each."""
    count_rows: Callable[[int], None] | None = None
    """Receives, in tasks that add up rows, the number of rows that were read."""

    def store(self, rows: DataFrame, name: str) -> DataFrame:
        """The same rows, stored if they can be."""
        return self.persist(rows, name) if self.persist else rows


class InputFormat(ABC):
    """One format of flow files.

    To add a format, write a subclass in a file of this package and add it to `FORMATS`.
    """

    name: ClassVar[str]
    """The value of `--flow-format`."""
    title: ClassVar[str]
    """What the rows are, in the plural, for messages: `VPC flow logs`."""
    files: ClassVar[str]
    """The kinds of files, for the help: `text or Parquet`."""
    names_brokers_by_address: ClassVar[bool]
    """Whether rows name brokers by IP address, so that snapshots need addresses."""
    client_columns: ClassVar[tuple[str, ...]]
    """Columns of the table of clients that can match rows of this format."""
    generated_as: ClassVar[tuple[str, ...]] = ()
    """Formats of `rackwise generate` whose files are of this format."""
    is_by_file: ClassVar[bool] = False
    """Whether the files have the columns of the rows, so that tasks read them."""
    needs_columns: ClassVar[tuple[str, ...]] = ()
    """Columns without which rows have to be compared with each other."""
    deals_text: ClassVar[bool] = False
    """Whether tasks read text files, too, if they read files at all."""
    has_row_per_line: ClassVar[bool] = False
    """Whether each line of a text file is a row, except for headers and bad lines."""
    reasons: ClassVar[Mapping[str, str]]
    """Reason why a row does not count -> what it means, in the order in which they are tested."""

    @abstractmethod
    def required_columns(self) -> tuple[str, ...]:
        """The columns that a file must have; none for a format without columns."""

    @abstractmethod
    def bronze_schema(self) -> StructType:
        """All columns that bronze rows of this format may have."""

    @abstractmethod
    def read(self, spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
        """Bronze rows of listed files, without columns that no file has.

        Raises `UnfitColumns`, and `InvalidFlows` for files that cannot be read.
        """

    def check_parquet(self, schema: StructType, where: str) -> None:
        """Check the columns of Parquet files whose rows tasks read (`is_by_file`).

        Raises `UnfitColumns`, and `InvalidFlows` for a type.
        """
        raise NotImplementedError(self.name, schema, where)

    def check_kinds(self, files: Sequence[FlowFile]) -> None:  # noqa: B027 (most have every kind)
        """Check the kinds of files. Raises `InvalidFlows` for a kind that this format never has."""

    def check_text(
        self, heads: Sequence[tuple[FlowFile, TextHead]]
    ) -> Sequence[tuple[FlowFile, tuple[str, ...]]]:
        """The columns of each text file that tasks read and that has a header (`deals_text`).

        Raises `UnfitColumns`, and `InvalidFlows` for a file that has lines and no header.
        """
        raise NotImplementedError(self.name, heads)

    def task_input(
        self, uris: Sequence[str], fleet: Fleet, buckets: Buckets, options: FactOptions
    ) -> FactInput:
        """What turns rows into facts that tasks read from these files (`is_by_file`)."""
        raise NotImplementedError(self.name, uris, fleet, buckets, options)

    @abstractmethod
    def names(self, bronze: DataFrame) -> FoundNames:
        """Names in the rows that need codes."""

    @abstractmethod
    def fact_input(
        self, bronze: DataFrame, fleet: Fleet, buckets: Buckets, options: FactOptions
    ) -> FactInput:
        """What turns the rows into facts."""

    @abstractmethod
    def facts(self, given: FactInput, fleet: Fleet, options: FactOptions) -> DataFrame:
        """`schemas.FLOW_FACT`, `reason`, `source_file`, `row_offset` and `raw` of every row."""
