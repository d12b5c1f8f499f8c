"""What a job needs of an engine besides running tasks: its files, its versions, its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rackwise.pipeline.runtime.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from rackwise.pipeline.bill.billed.cost_report import CostReport
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import FactInput
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats.base import FactOptions
    from rackwise.pipeline.ingest.names import FoundNames
    from rackwise.pipeline.request import AnalyzeRequest
    from rackwise.pipeline.runtime.running import Jobs


class OpenedFlows(Protocol):
    """Flow files whose columns are known and checked."""

    def names(self) -> FoundNames:
        """Names in the rows that need codes."""

    def fact_input(self, fleet: Fleet, buckets: Buckets, options: FactOptions) -> FactInput:
        """What turns the rows into facts."""


class JobEngine(Engine, Protocol):
    """An engine that can run `analyze`."""

    def watched(self) -> AbstractContextManager[Jobs]:
        """What runs in the block."""

    def check(self, request: AnalyzeRequest) -> None:
        """Check that the engine can do what is requested, before it does any work."""

    def list_flows(self, paths: Sequence[str]) -> Sequence[FlowFile]:
        """The files of `--flows`, in order of their names."""

    def open_flows(
        self,
        files: Sequence[FlowFile],
        format: str,  # noqa: A002 (the word of the command line)
        *,
        keep: str | None,
    ) -> OpenedFlows:
        """Flow files of a format; `keep`: a path where their rows are written as they are."""

    def cost_report(self, paths: Sequence[str], note: Callable[[str], None]) -> CostReport | None:
        """The provider's own bill; None without paths."""

    def claim(self, tables: str, run: str) -> str:
        """A new folder for the tables of a run."""

    def add_tables(self, table_format: str, folder: str) -> None:
        """Make tables of another format of the Parquet files of a run."""

    def remove_run(self, folder: str) -> str | None:
        """Remove the tables of a run; why they are left, or None."""

    def versions(self) -> dict[str, str]:
        """What runs the tasks, and its version, for the summary."""
