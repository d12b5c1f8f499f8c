"""The moves of a plan as rows of PLAN and what they cost, without an object for each move.

A plan of a large cluster has more than a million moves. Each would take a kilobyte as Python
objects, and takes a tenth of that in Arrow:

```
MoveColumns    after, before: lists   bytes, ..: -1 = unknown    topic, reasons: codes of few values
rows of PLAN   after, before: lists   bytes, ..: null            topic, reasons: texts
```

What this does not do: choose moves, or write them.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rackwise.core.model import UNKNOWN, Ragged
from rackwise.core.planning.outcome.move_columns import columns_of
from rackwise.pipeline.bill.cost import as_usd
from rackwise.pipeline.bill.exact import check_amounts
from rackwise.pipeline.bill.roll_ups import nanos_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.planning.model import Move
    from rackwise.core.planning.outcome.move_columns import CodedValues


def moved_rows(moves: Sequence[Move], rows: pa.StructType) -> pa.StructArray:
    """The moves in their order; `rows`: fields of PLAN without the cluster.

    Raises `InvalidPrices` if the copies of a move cost a billion dollars or more.
    """
    columns = columns_of(moves)
    before, after = columns.lists["before"], columns.lists["after"]
    nanos = columns.numbers["usd_nano"]
    check_amounts(nanos, columns.numbers["bytes"])
    found = {
        "topic": _texts(columns.names["topic"], pa.string()),
        "partition": pa.array(columns.numbers["partition"]),
        "before": _lists(before),
        "after": _lists(after),
        "is_leader_change": pa.array(before.firsts != after.firsts),
        "bytes": _known(columns.numbers["bytes"]),
        "cross_bytes": _known(columns.numbers["cross_bytes"]),
        "usd": as_usd(nanos, nanos != UNKNOWN),
        "reasons": _texts(columns.names["reasons"], pa.list_(pa.string())),
    }
    fields = [rows.field(place) for place in range(rows.num_fields)]
    arrays = [found[field.name].cast(field.type) for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def moves_cost(moved: pa.StructArray, minimise: str) -> int:
    """The cost of the moves in what the plan minimises, counted from their lists."""
    after = _ragged(moved.field("after"))
    added = after.keep(~after.values_in(_ragged(moved.field("before"))))
    if minimise == "usd":
        return sum(nanos_of(pa.chunked_array([moved.field("usd")])).tolist())
    copies = added.lengths.tolist()
    if minimise == "bytes":
        return sum(map(mul, copies, moved.field("bytes").fill_null(0).to_pylist()))
    return sum(copies)


def _known(numbers: NDArray[np.int64]) -> pa.Array:
    return pa.array(numbers, mask=numbers == UNKNOWN)


def _texts(column: CodedValues, kind: pa.DataType) -> pa.Array:
    return pa.array(column.values, kind).take(pa.array(column.codes))


def _lists(lists: Ragged) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(lists.offsets.astype(np.int32)), lists.values)


def _ragged(lists: pa.ListArray) -> Ragged:
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return Ragged(offsets - offsets[0], lists.flatten().to_numpy())
