"""Racks of addresses: a subnet table in at most three length classes, joined by equal integers.

`core.subnets` cuts the table into length classes. Each class is a lookup of `address >> shift`; the
finest class with a result decides. On arrays, a lookup is one index into a table or a binary search
(`RackLookup`). On frames, it is a broadcast LEFT join (`with_rack`):

```
buckets of /24          facts                    joined                       client_rack
bucket   rack           client_ip                >> 8 = 655365 -> 2           coalesce(2, 1, 0) = 2
655365   2 (/eu/b)      167773441 (10.0.5.1)     >> 16 = 2560  -> 1
```

IPv6 uses the same joins. Its key is the leading bits of the prefix with the sign inverted, which is
no IPv4 bucket for any address in use (8000::/32 is reserved). Every fact remains; its code is 0 if
no network contains its address.

What this does not do: cut or validate the table; see `core.subnets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.subnets import LengthClass, length_classes
from rackwise.pipeline.columns.address_columns import with_addresses
from rackwise.pipeline.columns.addresses import NONE, NumberLookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession

    from rackwise.core.inventory.addresses import AddressRow
    from rackwise.core.subnets import Subnet

V4 = 4
SIGN = np.uint64(1 << 63)
"""The sign bit of a long, which separates keys of IPv6 from keys of IPv4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """A subnet table that is ready to join."""

    classes: tuple[LengthClass, ...]
    """Finest first."""
    codes: Mapping[str, int]
    """Rack text -> code."""
    addresses: tuple[AddressRow, ...] = ()
    """Rows of an address table, which take precedence while they apply."""


def subnet_buckets(
    subnets: Sequence[Subnet],
    codes: Mapping[str, int] | None = None,
    addresses: Sequence[AddressRow] = (),
) -> Buckets:
    """Buckets of a subnet table; `codes`: rack text -> code; if None, dense from 1 in text order.

    `addresses`: rows of an address table, for `members.ClientRacks`.

    Raises `InvalidSubnets`, like `core.subnets.length_classes`.
    """
    if codes is None:
        racks = [*(row.rack for row in subnets), *(row.rack for row in addresses)]
        texts = sorted({rack.text for rack in racks})
        codes = {text: code for code, text in enumerate(texts, start=1)}
    return Buckets(classes=length_classes(subnets), codes=codes, addresses=tuple(addresses))


def with_rack(df: DataFrame, address: str, buckets: Buckets, *, into: str) -> DataFrame:
    """Adds `into`, the rack code (int) of the address in the text column `address`; 0 = unknown."""
    kept = df.columns
    read = with_addresses(df, {"_at": F.col(address)})
    found = with_rack_of(read, F.col("_at_ip"), F.col("_at_prefix"), buckets, into=into)
    return found.select(*kept, into)


def with_rack_of(
    df: DataFrame, ip: Column, prefix: Column, buckets: Buckets, *, into: str
) -> DataFrame:
    """Adds the rack code of an address that is a number; see `address_columns.with_addresses`."""
    joins = _joins(buckets)
    kept = df.columns
    keys = [_key(ip, prefix, one).alias(f"_bucket{number}") for number, one in enumerate(joins)]
    found = df.select("*", *keys)
    for number, one in enumerate(joins):
        found = found.join(
            F.broadcast(_frame(df.sparkSession, one, buckets.codes, number)),
            f"_bucket{number}",
            "left",
        )
    racks = [F.col(f"_rack{number}") for number in range(len(joins))]
    return found.select(*kept, F.coalesce(*racks, F.lit(0)).alias(into))


class RackLookup:
    """Rack lookup without Spark, for arrays of addresses that are numbers."""

    def __init__(self, buckets: Buckets) -> None:
        self._tables = [
            (one.version, one.shift, NumberLookup(*_ordered(*_arrays([one], buckets.codes))))
            for one in buckets.classes
        ]

    def find(self, ip: NDArray[np.int64], prefix: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rack codes of addresses as `addresses.AddressReader` gives them; 0 = unknown."""
        racks = np.zeros(len(ip), dtype=np.int64)
        for version, shift, buckets in self._tables:
            is_open = (racks == 0) & ((ip >= 0) if version == V4 else (ip < NONE))
            if is_open.any():
                # The keys of `_arrays`: the leading bits; for IPv6 with the sign inverted.
                four, six = ip >> shift, prefix >> shift << shift ^ SIGN.view(np.int64)
                found = buckets.find(four if version == V4 else six)
                np.copyto(racks, found, where=is_open & (found >= 0))
        return racks


def _joins(buckets: Buckets) -> list[list[LengthClass]]:
    """Groups of classes, one per join: the n-th finest class of each family is in the n-th join."""
    families = [
        [one for one in buckets.classes if one.version == version]
        for version in sorted({one.version for one in buckets.classes})
    ]
    most = max((len(family) for family in families), default=0)
    return [[family[n] for family in families if n < len(family)] for n in range(most)]


def _key(ip: Column, prefix: Column, classes: Iterable[LengthClass]) -> Column:
    key: Column | None = None
    for one in classes:
        if one.version == V4:
            is_mine, value = ip >= 0, F.shiftright(ip, one.shift)
        else:
            is_mine, value = prefix.isNotNull(), _sign_inverted(prefix.bitwiseAND(-(2**one.shift)))
        key = F.when(is_mine, value) if key is None else key.when(is_mine, value)
    return F.lit(None).cast("long") if key is None else key


def _sign_inverted(prefix: Column) -> Column:
    return prefix.bitwiseXOR(F.shiftleft(F.lit(1).cast("long"), 63))


def _frame(
    spark: SparkSession, classes: Iterable[LengthClass], codes: Mapping[str, int], number: int
) -> DataFrame:
    """Bucket key -> rack code of these classes, one row per bucket."""
    keys, racks = _arrays(classes, codes)
    return spark.createDataFrame(pa.table({f"_bucket{number}": keys, f"_rack{number}": racks}))


def _arrays(
    classes: Iterable[LengthClass], codes: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Bucket keys and their rack codes, each of shape (buckets,)."""
    keys: list[NDArray[np.int64]] = []
    racks: list[int] = []
    for one in classes:
        numbers = np.fromiter(one.buckets, dtype=np.uint64, count=len(one.buckets))
        if one.version != V4:
            numbers = (numbers << np.uint64(one.shift)) ^ SIGN
        keys.append(numbers.view(np.int64))
        racks += [codes[rack.text] for rack in one.buckets.values()]
    return np.concatenate(keys), np.array(racks, dtype=np.int32)


def _ordered(
    keys: NDArray[np.int64], racks: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.argsort(keys)
    return keys[order], racks[order].astype(np.int64)
