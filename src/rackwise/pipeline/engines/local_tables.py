"""Reads tables that an earlier run wrote, with pyarrow in a child process.

A table is a folder of Parquet files; names of folders such as `day=2026-11-01` are columns.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset

from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped
from rackwise.pipeline.ingest.splits import UnreadableFile
from rackwise.pipeline.ingest.table_files import table_places
from rackwise.pipeline.runtime.child_process import ReaderEnded, in_child
from rackwise.pipeline.runtime.failures import damaged_table, failure_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path


def table_batches(
    folder: Path, schema: pa.Schema, only: Mapping[str, Collection[Any]]
) -> Callable[[], Iterator[pa.RecordBatch]]:
    """What reads the rows of the files of a folder; `only`: column -> the values that are read.

    Raises `InvalidConfig` if there is no folder, and when the rows are read for a damaged file.
    """
    places = _table_files(folder)

    def batches() -> Iterator[pa.RecordBatch]:
        by = {part.partition("=")[0] for place in places for part in place.parent.parts}
        parts = dataset.partitioning(
            pa.schema([field for field in schema if field.name in by]), flavor="hive"
        )
        source = dataset.dataset(
            [str(folder / place) for place in places],
            schema=schema,
            partitioning=parts,
            partition_base_dir=str(folder),
        )
        chosen = [
            pc.field(name).isin(pa.array(values, schema.field(name).type))
            for name, values in only.items()
        ]
        kept = reduce(operator.and_, chosen) if chosen else None
        with _with_named_damage(folder):
            yield from in_child(partial(_rows, source, schema, kept), UnreadableFile)

    return batches if places else lambda: iter(())


def _table_files(folder: Path) -> list[Path]:
    """The files of a table, see `table_places`. Raises `InvalidConfig` without its folder."""
    if not folder.is_dir():
        raise InvalidConfig(
            f"expected a table of an earlier run in the folder {escaped(str(folder))}, got no such "
            "folder",
            wanted="a folder",
            had=str(folder),
            hint="restore the folder, or start a new result with another --out",
        )
    return table_places(folder)


def _rows(
    source: dataset.Dataset,
    schema: pa.Schema,
    kept: pc.Expression | None,
    note: Callable[[str], None],
) -> Iterator[pa.RecordBatch]:
    """The rows of a table, one file after another."""
    for part in source.get_fragments(filter=kept):
        note(part.path)
        try:
            yield from part.scanner(schema=schema, filter=kept, use_threads=False).to_batches()
        except MemoryError:  # Arrow's is an ArrowException, too
            raise
        except (OSError, pa.ArrowException) as error:
            raise UnreadableFile(f"{part.path}: {type(error).__name__}: {error}") from None


@contextmanager
def _with_named_damage(folder: Path) -> Iterator[None]:
    """Raise `InvalidConfig` for a file of a table that cannot be read."""
    try:
        yield
    except (UnreadableFile, ReaderEnded) as error:
        place = f"{error.note}: " if isinstance(error, ReaderEnded) else ""
        had = place + failure_line(error)
        raise damaged_table(had, str(folder)) from None
