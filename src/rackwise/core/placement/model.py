"""The input and output of placers: a request, and rows of broker ids.

```
Request(brokers=(0, 1, 2), partitions=3, replication=2)      Placement(first=0, rows=
                                                               0   0 1
            placer.place(request)  ->  int32 [3, 2]  ->        1   1 2
                                                               2   2 0)
                                                                   ^ the preferred leader
```

A placer is any object with a `name` and a method `place`. A placer that also has a method `change`
can add replicas to rows or remove replicas from them. Random numbers are part of the request
(`Draws`), so the same request gives the same rows.

This module decides nothing. `place.py` applies the rack mode, runs the checks and calls a placer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from rackwise.core.errors import InvalidAssignment
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Broker

NOBODY = -1
"""In rows of a placement: pads a row that is shorter than the longest."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placement:
    """Replica lists of consecutive partitions; each starts with its preferred leader."""

    rows: NDArray[np.int32]
    """int32 [partitions, replication], read-only; -1 pads rows of a topic that are shorter."""
    first: int = 0
    """The partition of row 0."""

    def __post_init__(self) -> None:
        rows = np.ascontiguousarray(self.rows, dtype=np.int32).view()
        if rows.ndim != 2:  # noqa: PLR2004 (partitions and replicas)
            raise InvalidAssignment(
                f"invalid rows: expected 2 dimensions, got {rows.ndim}",
                wanted=2,
                had=rows.ndim,
            )
        rows.flags.writeable = False
        object.__setattr__(self, "rows", rows)

    @classmethod
    def of(cls, rows: Mapping[int, Sequence[int]]) -> Placement:
        """From partition -> brokers. Raises `InvalidAssignment` if a partition id is missing.

        >>> Placement.of({1: [5, 4], 0: [3]}).rows.tolist()
        [[3, -1], [5, 4]]
        """
        partitions = sorted(rows)
        first = partitions[0] if partitions else 0
        for wanted, had in enumerate(partitions, start=first):
            if wanted != had:
                raise InvalidAssignment(
                    f"invalid rows: expected partition {wanted}, got {had}",
                    wanted=wanted,
                    had=had,
                )
        width = max(map(len, rows.values()), default=0)
        filled = np.full((len(rows), width), NOBODY, dtype=np.int32)
        for row, partition in zip(filled, partitions, strict=True):
            row[: len(rows[partition])] = rows[partition]
        return cls(rows=filled, first=first)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.first + len(self)))

    def __getitem__(self, partition: int) -> tuple[int, ...]:
        if not self.first <= partition < self.first + len(self):
            raise KeyError(partition)
        row = self.rows[partition - self.first]
        return tuple(row[row != NOBODY].tolist())

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Placement):
            return NotImplemented
        return self.first == other.first and np.array_equal(self.rows, other.rows)

    __hash__ = None  # type: ignore[assignment]

    @property
    def leaders(self) -> NDArray[np.int32]:
        """The preferred leader of each partition, int32 [partitions], a view."""
        return self.rows[:, 0]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of replicas of each partition, int64 [partitions]."""
        lengths: NDArray[np.int64] = (self.rows != NOBODY).sum(axis=1, dtype=np.int64)
        return lengths

    def as_dict(self) -> dict[int, list[int]]:
        """Rows by partition as Python integers, the form of clients and JSON."""
        rows = self.rows.tolist()
        if (self.rows == NOBODY).any():
            rows = [[broker for broker in row if broker != NOBODY] for row in rows]
        return dict(zip(self, rows, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The replicas and leaders of other topics on each broker; they only break ties."""

    replicas: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Broker id -> replicas of other topics; absent is 0."""
    leaders: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Broker id -> leaderships of other topics; absent is 0."""


@runtime_checkable
class Draws(Protocol):
    """A source of random numbers, such as `random.Random`."""

    def randrange(self, stop: int, /) -> int:
        """An integer from 0 to stop - 1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The input of a placer; the rack mode is already applied, so a rack may be None."""

    brokers: tuple[Broker, ...]
    """In id order; fenced ones only for placers that use them."""
    partitions: int
    """The number of rows to create."""
    replication: int
    """The number of columns."""
    first_partition: int = 0
    """The partition of the first new row."""
    existing: Placement | None = None
    """Existing rows of the topic: those before `first_partition` when partitions are added, all of
    them when the replication changes."""
    load: Load | None = None
    """Replicas of other topics; None to ignore them."""
    rng: Draws | None = None
    """Random numbers; None if nothing may be drawn."""


@runtime_checkable
class Placer(Protocol):
    """An algorithm that creates rows."""

    @property
    def name(self) -> str:
        """The placer's name in commands and messages."""
        ...

    def place(self, request: Request, /) -> NDArray[np.int32]:
        """Rows of broker ids, int32 [partitions, replication]; column 0 is the preferred leader."""
        ...


@runtime_checkable
class ReplicationChanger(Protocol):
    """A placer that can also change the number of replicas of existing rows."""

    def change(self, request: Request, /) -> NDArray[np.int32]:
        """The rows of `request.existing` with `request.replication` columns."""
        ...
