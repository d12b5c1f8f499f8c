"""Flow logs as text that tasks read: the headers of files, and their rows as a Spark frame.

```
text_heads   one task reads the start of a file     header, or its first line, or broken
local_heads  the same in a child process
text_rows    tasks read parts of files              a row each, with texts and the line
```

The rows are needed only where rows are compared with each other or kept. Otherwise the tasks that
read the parts add them up (`sums`), and no row leaves them.

What this does not do: read text of other compressions, or files that Spark has listed on a store
(`text`).
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from rackwise.pipeline.columns.arrays import as_batch
from rackwise.pipeline.ingest.splits import (
    Guarded,
    SplitReader,
    readable,
    split_table,
    splits,
    with_named_damage,
)
from rackwise.pipeline.ingest.text_lines import TextHead, text_head
from rackwise.pipeline.runtime.failures import spark_failures
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile

_HEADS = StructType(
    [
        *(StructField(name, StringType()) for name in ("name", "header", "first")),
        StructField("is_broken", BooleanType()),
    ]
)


def text_heads(spark: SparkSession, files: Sequence[FlowFile]) -> list[tuple[FlowFile, TextHead]]:
    """What begins each text file; an action. Raises `InvalidFlows` for an unreadable file."""
    frame = splits(spark, files, (), whole=True)
    with with_named_damage(*spark_failures()):
        rows = frame.mapInArrow(_heads, _HEADS).collect()
    return _by_file(files, [row.asDict() for row in rows])


def local_heads(files: Sequence[FlowFile]) -> list[tuple[FlowFile, TextHead]]:
    """The same without Spark. Raises `UnreadableFile`."""
    table, _ = split_table(files, (), whole=True)
    batches = Guarded(_heads)(table.to_batches())
    return _by_file(files, [row for batch in batches for row in batch.to_pylist()])


def _by_file(
    files: Sequence[FlowFile], rows: Sequence[Mapping[str, Any]]
) -> list[tuple[FlowFile, TextHead]]:
    heads = {row["name"]: row for row in rows}
    names = ("header", "first", "is_broken")
    return [(file, TextHead(**{name: heads[file.uri][name] for name in names})) for file in files]


def text_rows(spark: SparkSession, files: Sequence[FlowFile], columns: StructType) -> DataFrame:
    """The rows of text files: `columns`, null where a file has none."""
    reader = SplitReader(needed=columns, coded=(), work=partial(_rows, columns=columns))
    return splits(spark, files, ()).mapInArrow(reader, columns)


def _heads(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for split in batch.to_pylist():
            for head in readable(map(text_head, [split["path"]]), split["path"]):
                row = {"name": split["name"], **asdict(head)}
                yield pa.RecordBatch.from_pylist([row], schema=arrow_schema(_HEADS))


def _rows(batches: Iterable[pa.RecordBatch], *, columns: StructType) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(columns)
    for batch in batches:
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        found["raw"] = pc.utf8_rtrim(found["raw"], "\n")
        yield as_batch(found, schema, batch.num_rows)
