"""Packs small numbers into one long, so that a row has few columns and a key is one integer.

Each field has the width that its largest number needs. The first field has the highest bits:

```
day 16 bits | topic 12 | kind 2 | from 3 | to 3         (3, 2, 1, 1, 2) -> 3146314
```

If the widths exceed 63 bits, the fields fill several longs: `key1`, `key2` and so on. A field is
never split. In all functions, `bits` maps the name of a field to its width in bits, in the order of
the fields; a width is at most 63.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from pyspark.sql import Column

LONG_BITS = 63
"""Bits of a long without its sign, so that keys are not negative."""


def packed_arrays(
    values: Mapping[str, NDArray[np.int64]], bits: Mapping[str, int]
) -> dict[str, NDArray[np.int64]]:
    """Name of a key column -> longs with some of the fields.

    Each array in and out has shape (n,), dtype int64.
    """
    keys: dict[str, NDArray[np.int64]] = {}
    for key, part in _parts(bits).items():
        column = np.zeros_like(values[part[0]])
        for name in part:
            column = column << bits[name] | values[name]
        keys[key] = column
    return keys


def unpacked_arrays(
    keys: Mapping[str, NDArray[np.int64]], bits: Mapping[str, int]
) -> dict[str, NDArray[np.int64]]:
    """The inverse of `packed_arrays`.

    >>> bits = {"day": 16, "kind": 2}
    >>> keys = packed_arrays({"day": np.array([3]), "kind": np.array([1])}, bits)
    >>> unpacked_arrays(keys, bits)
    {'day': array([3]), 'kind': array([1])}
    """
    values = {}
    for name in bits:
        key, shift, mask = place_of(bits, name)
        values[name] = (keys[key] >> shift) & mask
    return values


def place_of(bits: Mapping[str, int], name: str) -> tuple[str, int, int]:
    """The key column that holds a field, the lowest bit of the field there, and its mask."""
    for key, part in _parts(bits).items():
        if name in part:
            shift = sum(bits[other] for other in part[part.index(name) + 1 :])
            return key, shift, (1 << bits[name]) - 1
    raise KeyError(name)


def unpacked(bits: Mapping[str, int]) -> dict[str, Column]:
    """Name of a field -> its value as a long, read from the columns of `packed_arrays`."""
    values: dict[str, Column] = {}
    for name in bits:
        key, shift, mask = place_of(bits, name)
        values[name] = F.shiftright(F.col(key), shift).bitwiseAND(F.lit(mask).cast("long"))
    return values


def key_names(bits: Mapping[str, int]) -> tuple[str, ...]:
    """The names of the key columns that hold the fields."""
    return tuple(_parts(bits))


def _parts(bits: Mapping[str, int]) -> dict[str, list[str]]:
    """Name of a key column -> its fields, from the highest bits to the lowest."""
    parts: list[list[str]] = [[]]
    for name, width in bits.items():
        if sum(bits[other] for other in parts[-1]) + width > LONG_BITS:
            parts.append([])
        parts[-1].append(name)
    return {f"key{number}": part for number, part in enumerate(parts, start=1)}
