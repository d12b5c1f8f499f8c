"""Columns of Arrow batches as numpy arrays: texts as codes, numbers, and the reason of each row.

Each distinct text of a batch is processed once, however many rows have it:

```
column     a  b  a  null         names  (a, b)           codes  0  1  0  -1
looked up in {b: 7}              [0, 7], then 0 for null   ->   0  7  0   0
```

Bytes that are not UTF-8 become U+FFFD, so that no file stops a run.

Arrays of one batch all have shape (n,), n being its number of rows.

What this does not do: decide what is wrong with a row (`vpc_rows`, `canonical_facts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rackwise.pipeline.schemas import LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

NO_NUMBER = -1
"""The number of a missing value, and of a value that is not a number from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """A column of texts as codes."""

    codes: NDArray[np.int64]
    """Shape (n,): an index into `names`, -1 where the row has no text."""
    names: tuple[str, ...]
    """The distinct texts."""

    @classmethod
    def of(cls, column: pa.Array, *, missing: str | None = None) -> TextColumn:
        """The texts of an Arrow column of strings; `missing` is a text that means no text."""
        coded = column.dictionary_encode()
        # A null has the code -1, so that indexing with codes reads the last element: see `is_any`.
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        names = tuple(read_texts(coded.dictionary))
        if missing in names:
            codes[codes == names.index(missing)] = -1
        return cls(codes=codes, names=names)

    def is_any(self, *texts: str) -> NDArray[np.bool_]:
        """Whether the row's text is one of `texts`; shape (n,)."""
        searched = frozenset(texts)
        # One element for each name and, last, one for rows without text, whose code is -1.
        is_one = np.array([name in searched for name in (*self.names, None)])
        return is_one[self.codes]

    def numbers(self, known: Mapping[str, int], *, unknown: int = 0) -> NDArray[np.int64]:
        """The number of each row's text; `unknown` for other texts and for rows without text."""
        found = [known.get(name, unknown) for name in self.names]
        return np.array([*found, unknown], dtype=np.int64)[self.codes]

    @property
    def is_present(self) -> NDArray[np.bool_]:
        """Whether the row has a text; shape (n,)."""
        return self.codes >= 0

    def strings(self) -> pa.Array:
        """As Arrow strings; null where the row has no text."""
        return pa.array(self.names, pa.string()).take(pa.array(self.codes, mask=self.codes < 0))


class Reasons:
    """The first reason of each row; reasons passed at the start precede all others."""

    def __init__(self, first: TextColumn) -> None:
        self._codes = first.codes.copy()  # shape (n,): an index into `_names`, -1 for no reason
        self._names = list(first.names)

    def add(self, name: str, holds: NDArray[np.bool_]) -> None:
        """Set a reason for rows where it `holds`, unless they have one already."""
        rows = holds & self.is_open
        if rows.any():
            self._codes[rows] = len(self._names)
            self._names.append(name)

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Whether the row has no reason yet; shape (n,)."""
        return self._codes < 0

    def column(self) -> TextColumn:
        """The reasons; rows without one have no text."""
        return TextColumn(codes=self._codes.copy(), names=tuple(self._names))


def texts_at(places: NDArray[np.int64], texts: Sequence[str], rows: int) -> pa.Array:
    """An Arrow column of `rows` rows with `texts` at `places` (one text each), null elsewhere."""
    codes = np.full(rows, -1)
    codes[places] = np.arange(len(places))
    return TextColumn(codes=codes, names=tuple(texts)).strings()


def read_texts(column: pa.Array) -> list[Any]:
    """The texts of an Arrow column of strings; None for a null."""
    try:
        found: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        found = [
            None if text is None else text.decode(errors="replace")
            for text in column.cast(pa.binary()).to_pylist()
        ]
    return found


def cut_texts(column: pa.Array) -> pa.Array:
    """Texts, coded or not, of at most `LONGEST_TEXT` characters."""
    if pa.types.is_dictionary(column.type):
        texts = cut_texts(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, texts)
    longest = pc.max(pc.binary_length(column)).as_py() or 0
    return pc.utf8_slice_codeunits(column, 0, LONGEST_TEXT) if longest > LONGEST_TEXT else column


def longs(column: pa.Array) -> NDArray[np.int64]:
    """Integers from 0; -1 where one is missing or negative. Shape (n,)."""
    whole = column.cast(pa.int64()).fill_null(NO_NUMBER)
    numbers: NDArray[np.int64] = np.maximum(whole.to_numpy(zero_copy_only=False), NO_NUMBER)
    return numbers


def flags(column: pa.Array) -> NDArray[np.bool_]:
    """Booleans; false where one is missing. Shape (n,)."""
    no = pa.scalar(False)  # noqa: FBT003 (the value)
    found: NDArray[np.bool_] = column.fill_null(no).to_numpy(zero_copy_only=False)
    return found


def nullable(values: NDArray[np.int64], is_known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Integers as Arrow; null where `is_known` is false, or by default where they are -1."""
    return pa.array(values, mask=values == NO_NUMBER if is_known is None else ~is_known)


def with_nulls(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with a column of nulls for each field of `schema` that it lacks."""
    lacking = [field for field in schema if field.name not in batch.schema.names]
    columns = [*batch.columns, *(pa.nulls(batch.num_rows, field.type) for field in lacking)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema([*batch.schema, *lacking]))


def as_batch(columns: Mapping[str, pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """A batch of `schema`; a field without a column is null."""
    arrays = [
        columns[field.name].cast(field.type)
        if field.name in columns
        else pa.nulls(rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
