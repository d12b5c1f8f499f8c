"""Selects the partitions that get a node's odd replicas: runs over columns, mixed by a stride.

Goals, in order: no partition gives a child two of its odd replicas; every child gets exactly its
share; any range of partitions holds about its proportion of each share; partitions that are
neighbours at one node are not neighbours at the next node.

N partitions have `extra` odd replicas each, to different children. The share of each child is one
run of columns. The runs follow each other on N columns and wrap around at the end. A run is at most
N long, so no child gets a column twice. Every column is used `extra` times:

```
N = 5, extra = 1, shares a 2  b 2  c 1       column     0 1 2 3 4
                                             child      a a b b c
stride 2, offset 0: partition j takes        partition  0 1 2 3 4
column j * 2 mod 5                           column     0 2 4 1 3
                                             child      a b c a b
```

The stride is the integer coprime to N that is nearest to N times the fraction of a square root of a
prime, so that adjacent partitions take distant columns at any scale. Each node has a different
prime, because equal strides would make the choices of two nodes depend on each other.

This module does not compute the shares.
"""

from __future__ import annotations

from itertools import count
from math import gcd, isqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

PRIMES = tuple(n for n in range(2, 230) if all(n % d for d in range(2, isqrt(n) + 1)))
"""The first fifty; node number i takes prime i, cyclic."""

OFFSET_PRIME = 7
"""The offset of a node takes the prime this many places on."""


def run_partitions(
    partitions: int, lengths: Iterable[int], *, number: int
) -> Iterator[NDArray[np.int64]]:
    """The partitions of each run in ascending order, int64 [length].

    `partitions`: N; `lengths`: of the runs, each at most N, a multiple of N in total; `number`: the
    node's.
    """
    stride, offset = _stride(partitions, number), _offset(partitions, number)
    inverse = pow(stride, -1, partitions)
    start = 0
    for length in lengths:
        mine = np.arange(start - offset, start - offset + length) % partitions
        if length < partitions:
            mine = mine * inverse % partitions
        mine.sort()
        yield mine
        start = (start + length) % partitions


def owners(partitions: int, lengths: Sequence[int], *, number: int) -> NDArray[np.int32]:
    """The inverse of `run_partitions`: the runs of each partition, int32 [times, partitions].

    A run is identified by its index in `lengths`.
    """
    columns = np.arange(partitions) * _stride(partitions, number) + _offset(partitions, number)
    columns %= partitions
    runs = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    return runs.reshape(-1, partitions).take(columns, axis=1)


def _stride(partitions: int, number: int) -> int:
    wanted = _fraction(partitions, number)
    return next(
        near % partitions
        for far in count()
        for near in (wanted + far, wanted - far)
        if gcd(near, partitions) == 1
    )


def _offset(partitions: int, number: int) -> int:
    return _fraction(partitions, number + OFFSET_PRIME) if number else 0


def _fraction(partitions: int, place: int) -> int:
    """N times the fraction of the square root of a prime, in exact integers."""
    return isqrt(PRIMES[place % len(PRIMES)] * partitions * partitions) % partitions
