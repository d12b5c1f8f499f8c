"""Columns of Arrow batches as numpy arrays: texts as codes, numbers, and the fate of each row.

Each distinct text of a batch is looked at once, however many rows have it:

```
column     a  b  a  null        names  (a, b)        codes  0  1  0  -1
looked up in {b: 7}             [0, 7] and, of none, 0  ->  0  7  0   0
```

Text that is no UTF-8 is read with U+FFFD in place of what is none: no file stops a run by it.

What this does not do: say what is wrong with a row (`flow_logs`, `input_facts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

NO_NUMBER = -1
"""Stands for nothing, and for what is no number from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Texts of a column: `codes` of shape (n,), an index into `names`; -1 where none is given."""

    codes: NDArray[np.int64]
    names: tuple[str, ...]

    @classmethod
    def of(cls, column: pa.Array, *, missing: str | None = None) -> Words:
        """The texts of an Arrow column of strings; `missing` is one that says that none is."""
        coded = column.dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        names = tuple(read_texts(coded.dictionary))
        if missing in names:
            codes[codes == names.index(missing)] = -1
        return cls(codes=codes, names=names)

    def is_any(self, *words: str) -> NDArray[np.bool_]:
        """Whether the text is one of `words`."""
        asked = frozenset(words)
        wanted = np.array([name in asked for name in (*self.names, None)])
        return wanted[self.codes]

    def numbers(self, known: Mapping[str, int], *, unknown: int = 0) -> NDArray[np.int64]:
        """What is known of each text; `unknown` also where none is given."""
        found = [known.get(name, unknown) for name in self.names]
        return np.array([*found, unknown], dtype=np.int64)[self.codes]

    @property
    def is_given(self) -> NDArray[np.bool_]:
        """Whether there is a text."""
        return self.codes >= 0

    def strings(self) -> pa.Array:
        """As Arrow strings, null where none is given."""
        return pa.array(self.names, pa.string()).take(pa.array(self.codes, mask=self.codes < 0))


class Reasons:
    """The first reason of each row; those given at the start come before all."""

    def __init__(self, first: Words) -> None:
        self._codes = first.codes.copy()
        self._names = list(first.names)

    def add(self, name: str, holds: NDArray[np.bool_]) -> None:
        """A reason of the rows that have none so far."""
        rows = holds & self.is_open
        if rows.any():
            self._codes[rows] = len(self._names)
            self._names.append(name)

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Whether a row has no reason."""
        return self._codes < 0

    def words(self) -> Words:
        """The reasons, none where a row is open."""
        return Words(codes=self._codes.copy(), names=tuple(self._names))


def texts_at(places: NDArray[np.int64], texts: Sequence[str], rows: int) -> pa.Array:
    """An Arrow column of so many rows with these texts at these places, null elsewhere."""
    codes = np.full(rows, -1)
    codes[places] = np.arange(len(places))
    return Words(codes=codes, names=tuple(texts)).strings()


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


def longs(column: pa.Array) -> NDArray[np.int64]:
    """Integers from 0, -1 where one is missing or below."""
    whole = column.cast(pa.int64()).fill_null(NO_NUMBER)
    numbers: NDArray[np.int64] = np.maximum(whole.to_numpy(zero_copy_only=False), NO_NUMBER)
    return numbers


def flags(column: pa.Array) -> NDArray[np.bool_]:
    """Booleans, false where one is missing."""
    no = pa.scalar(False)  # noqa: FBT003 (the value)
    found: NDArray[np.bool_] = column.fill_null(no).to_numpy(zero_copy_only=False)
    return found


def nullable(values: NDArray[np.int64], is_there: NDArray[np.bool_] | None = None) -> pa.Array:
    """Integers as Arrow, null where they are not there; that is, else, where they are -1."""
    return pa.array(values, mask=values == NO_NUMBER if is_there is None else ~is_there)


def with_nulls(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with a column of nulls for each field of `schema` that it does not have."""
    lacking = [field for field in schema if field.name not in batch.schema.names]
    columns = [*batch.columns, *(pa.nulls(batch.num_rows, field.type) for field in lacking)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema([*batch.schema, *lacking]))


def as_batch(made: Mapping[str, pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """A batch of `schema`; a column that was not made is null."""
    columns = [
        made[field.name].cast(field.type) if field.name in made else pa.nulls(rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
