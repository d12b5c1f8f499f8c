"""Sums of CROSS_RACK: roll-ups, the matrix, standings, and what a provider's bill is compared with.

Goals, in order:

1. All sums are exact: bytes are longs, dollars decimals.
2. A sum of dollars is null if it would be zero while a part of it is null: see
   `core.traffic.known_sum`.
3. Tasks add up the rows of one cluster; the driver only joins, orders and divides by the total of
   the run.

```
rows of a  ->  by_topic of a ..  \
rows of b  ->  by_topic of b ..  ->  by_topic, the most expensive row first, with shares
```

What this does not do: add up savings (`savings`); write tables (`gold`).
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rackwise.core.errors import InvalidPrices
from rackwise.core.traffic import NANO
from rackwise.pipeline.bill.cost import LOCAL, UNKNOWN, USD_TYPE
from rackwise.pipeline.bill.exact import ABSURD, MOST_NANO
from rackwise.pipeline.bill.traffic import columns_of
from rackwise.pipeline.columns.groups import summed, whole_longs
from rackwise.pipeline.schemas import FETCH, KINDS, UNKNOWN_GROUP, UNKNOWN_TOPIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MEASURES = ("bytes_local", "bytes_cross", "bytes_unknown", "usd", "usd_high")
STANDING = (
    *("cluster", "day", "kind", "quality", "level", "price_row"),
    *("is_topic_known", "is_group_known"),
)
"""The columns that identify a `model.Standing`."""
COMPARED = ("cluster", "day", "from_rack", "to_rack", "price_row")
"""The columns that identify a row of `compared_sums`."""
MATRIX_KEYS = ("cluster", "level", "from_rack", "to_rack")
_ZERO = pa.scalar(0, pa.int64())


def roll_up(cross_rack: pa.Table, key: Sequence[str]) -> pa.Table:
    """Bytes and dollars per cluster and `key`: the keys and `MEASURES`.

    Dollars are null if they are not known; `usd_high` is null if that of a row is.
    """
    keys = ["cluster", *key]
    level, bytes_ = cross_rack["level"], cross_rack["bytes"]
    columns = {name: cross_rack[name] for name in keys} | {
        name: pc.if_else(pc.fill_null(is_so, False), bytes_, _ZERO)  # noqa: FBT003 (the value)
        for name, is_so in (
            ("bytes_local", pc.equal(level, LOCAL)),
            ("bytes_cross", pc.greater(level, LOCAL)),
            ("bytes_unknown", pc.equal(level, UNKNOWN)),
        )
    }
    for name in ("usd", "usd_high"):
        columns[name] = cross_rack[name]
        columns[f"no_{name}"] = pc.is_null(cross_rack[name]).cast(pa.int64())
    found = summed(pa.table(columns), keys, [*MEASURES, "no_usd", "no_usd_high"])
    is_whole = pc.equal(found["no_usd_high"], 0)
    high = pc.if_else(is_whole, found["usd_high"], _decimal(None, found["usd_high"].type))
    return _with(found.select([*keys, *MEASURES]), usd=_known(found, "usd"), usd_high=as_usd(high))


def ordered(parts: Sequence[pa.Table], key: Sequence[str]) -> pa.Table:
    """The roll-ups of one or more clusters with `share`, the most expensive row first.

    `share` is the share of the dollars of the run. If the run has no dollars, `share` is the share
    of its bytes. The share of unknown dollars is null.
    """
    whole = pa.concat_tables(parts).combine_chunks()
    if not len(whole):
        return whole.append_column("share", pa.array([], pa.float64()))
    is_unknown = pc.is_null(whole["usd"])
    places = pa.table(
        {
            "is_unknown": is_unknown.cast(pa.int8()),
            **{name: whole[name] for name in ("usd", "bytes_cross", "cluster", *key)},
        }
    )
    order = [("is_unknown", "ascending"), ("usd", "descending"), ("bytes_cross", "descending")]
    order += [(name, "ascending") for name in ("cluster", *key)]
    whole = whole.take(pc.sort_indices(places, order))
    return whole.append_column("share", _shares(whole))


def _shares(whole: pa.Table) -> pa.Array:
    known = pc.is_valid(whole["usd"]).combine_chunks()
    nanos = nanos_of(whole["usd"])
    all_nano = sum(nanos.tolist())
    if all_nano > 0:
        dollars = np.array([nano / NANO for nano in nanos.tolist()])
        return pc.if_else(
            known, pa.array(dollars / (all_nano / NANO)), pa.scalar(None, pa.float64())
        )
    columns = columns_of(whole, ("bytes_local", "bytes_cross", "bytes_unknown"))
    bytes_ = sum(columns.values(), np.zeros(len(whole), dtype=np.int64))
    total = sum(bytes_.tolist())
    if not total:
        return pa.nulls(len(whole), pa.float64())
    return pa.array(bytes_.astype(np.float64) / float(total))


def nanos_of(usd: pa.ChunkedArray) -> NDArray[np.int64]:
    """`schemas.USD` as nano-dollars; 0 for null."""
    nano = pa.scalar(Decimal(NANO), pa.decimal128(10, 0))
    return whole_longs(pc.multiply(usd.cast(USD_TYPE), nano))


def matrix(cross_rack: pa.Table, levels: Sequence[str]) -> pa.Table:
    """MATRIX without order: bytes and dollars between ancestors at each level, local included."""
    parts = []
    crossing = cross_rack["level"]
    for number in range(1, max(len(levels), 1) + 1):
        is_local = pc.or_(pc.equal(crossing, LOCAL), pc.greater(crossing, number))
        paid = pc.if_else(is_local, _decimal(0, USD_TYPE), cross_rack["usd"])
        count = len(cross_rack)
        name = levels[number - 1] if number <= len(levels) else None
        rows = pa.table(
            {
                "cluster": cross_rack["cluster"],
                "from_rack": _ancestors(cross_rack["from_rack"], number),
                "to_rack": _ancestors(cross_rack["to_rack"], number),
                "level": pa.array(np.full(count, number, dtype=np.int32)),
                "level_name": pa.array([name], pa.string()).take(
                    pa.array(np.zeros(count, dtype=np.int64))
                ),
                "bytes": cross_rack["bytes"],
                "usd": paid,
                "no_usd": pc.is_null(paid).cast(pa.int64()),
            }
        )
        keys = ["cluster", "level", "level_name", "from_rack", "to_rack"]
        found = summed(rows, keys, ["bytes", "usd", "no_usd"])
        parts.append(_with(found.select([*keys, "bytes", "usd"]), usd=_known(found, "usd")))
    return pa.concat_tables(parts)


def standings(cross_rack: pa.Table) -> pa.Table:
    """The bytes and dollars of rows of CROSS_RACK by `STANDING`."""
    is_fetch = pc.equal(cross_rack["kind"], KINDS[FETCH])
    rows = cross_rack.append_column(
        "is_topic_known", pc.not_equal(cross_rack["topic"], UNKNOWN_TOPIC)
    ).append_column(
        "is_group_known",
        pc.or_(pc.invert(is_fetch), pc.not_equal(cross_rack["client_group"], UNKNOWN_GROUP)),
    )
    found = summed(rows, STANDING, ["bytes", "usd", "usd_high"])
    return _with(found, usd=as_usd(found["usd"]), usd_high=as_usd(found["usd_high"]))


def compared_sums(cross_rack: pa.Table) -> pa.Table:
    """Bytes and dollars by `COMPARED`, and `unpriced`: bytes without dollars."""
    no_usd = pc.is_null(cross_rack["usd"])
    rows = cross_rack.append_column("unpriced", pc.if_else(no_usd, cross_rack["bytes"], _ZERO))
    found = summed(rows, COMPARED, ["bytes", "usd", "unpriced"])
    return _with(found, usd=as_usd(found["usd"]))


def _ancestors(racks: pa.ChunkedArray, depth: int) -> pa.Array:
    """The ancestor of each rack at a depth; the rack itself if it is no path or not that deep."""
    coded = racks.combine_chunks().dictionary_encode()
    cut = [
        "/".join(text.split("/")[: depth + 1]) if text.startswith("/") else text
        for text in coded.dictionary.to_pylist()
    ]
    return pa.array(cut, pa.string()).take(coded.indices)


def _with(table: pa.Table, **columns: pa.ChunkedArray) -> pa.Table:
    """The table with other values in some columns."""
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def as_usd(sums: pa.ChunkedArray) -> pa.ChunkedArray:
    """Sums of dollars as `schemas.USD`. Raises `InvalidPrices` for a billion dollars or more."""
    most = (MOST_NANO + 1) // NANO
    greatest = pc.max(sums).as_py()
    if greatest is not None and greatest >= most:
        raise InvalidPrices(
            f"expected less than {most} dollars for a sum of rows, got {greatest:f}",
            wanted=most,
            had=f"{greatest:f}",
            hint=ABSURD,
        )
    return sums.cast(USD_TYPE)


def _known(found: pa.Table, name: str) -> pa.ChunkedArray:
    """The sums of dollars; null where a sum is zero and a part of it is null."""
    whole = found[name]
    is_sum = pc.or_(pc.equal(found[f"no_{name}"], 0), pc.not_equal(whole, _decimal(0, whole.type)))
    kept = pc.fill_null(is_sum, False)  # noqa: FBT003 (the value)
    return as_usd(pc.if_else(kept, whole, _decimal(None, whole.type)))


def _decimal(value: int | None, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(None if value is None else Decimal(value), kind)
