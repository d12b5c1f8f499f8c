"""Weight tables: how much is read from each partition, as CSV.

```
topic,partition,bytes_per_s
orders,0,1048576
orders,1,2097152
```

Every row has all three; a partition has at most one row. A table without rows would count every
partition as nothing, so it is rejected.

What this does not do: know which partitions there are; the caller gives their numbers.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.csv import CsvRow, table_of
from rackwise.core.assignors.members import TopicPartition
from rackwise.core.errors import InvalidWeights
from rackwise.core.json.declare import MAX_ID
from rackwise.core.json.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

COLUMNS = ("topic", "partition", "bytes_per_s")

_MOST = 2**63 - 1
_MAX_DIGITS = 19


def read_weights(
    path: str | Path, *, sizes: Mapping[str, int] | None = None, max_bytes: int = MAX_BYTES
) -> Mapping[TopicPartition, int]:
    """Partition -> bytes per second; `sizes`: topic -> number of its partitions, where known.

    Raises `InvalidConfig` if the path is no readable regular file, `InvalidWeights`.
    """
    data = read_bytes(path, error=InvalidWeights, max_bytes=max_bytes)
    return parse_weights(data, where=str(path), sizes=sizes)


def parse_weights(
    data: bytes, *, where: str, sizes: Mapping[str, int] | None = None
) -> Mapping[TopicPartition, int]:
    """The weights in the content of a weight table.

    Raises `InvalidWeights`, with `sizes` for a row of a topic or partition that is not there too.
    """
    table = table_of(data, where=where, error=InvalidWeights, required=COLUMNS)
    if not table.rows:
        table.faults.add(
            Fault(
                place="",
                sentence="expected at least one row, got none",
                wanted="at least one row",
                had=0,
                hint="without weights each partition counts as one: leave the table out",
            )
        )
    weights: dict[TopicPartition, int] = {}
    for row in table.rows:
        if not row["topic"]:
            row.wrong("topic", "the name of a topic")
        partition = _number(row, "partition", "a partition number", MAX_ID, None)
        weight = _number(row, "bytes_per_s", "integer bytes_per_s >= 0", _MOST, "round them")
        tp = TopicPartition(row["topic"], partition)
        if tp in weights:
            row.wrong("partition", "one row per partition", hint="keep one of its two lines")
        if sizes is not None:
            _check_there(row, tp, sizes)
        weights[tp] = weight
    table.faults.raise_if_any()
    return MappingProxyType(weights)


def _check_there(row: CsvRow, tp: TopicPartition, sizes: Mapping[str, int]) -> None:
    if tp.topic not in sizes:
        row.wrong("topic", "a topic of the cluster", hint="take out the rows of other topics")
    elif tp.partition >= sizes[tp.topic]:
        row.wrong("partition", f"a partition from 0 to {sizes[tp.topic] - 1}")


def _number(row: CsvRow, column: str, wanted: str, most: int, hint: str | None) -> int:
    text = row[column]
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    if is_number and int(text) <= most:
        return int(text)
    row.wrong(column, wanted, hint=hint)
    return 0
