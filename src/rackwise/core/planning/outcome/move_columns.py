"""The moves of a plan as columns: a million moves without an object each.

A plan is a list of moves to those who read it, and columns to those who check it or write it:

```
Move, Move, ..   <->   after, before: lists; bytes, ..: numbers; topic, ..: codes of few values
```

Limits: a column holds no value that a plan file cannot have; -1 stands for an unknown number.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from rackwise.core.model import UNKNOWN, Ragged
from rackwise.core.override import override
from rackwise.core.planning.model import Move

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.core.planning.model import Plan

LISTS = ("after", "before")
"""Fields of a move that are lists of broker ids."""
NUMBERS = ("bytes", "cross_bytes", "partition", "usd_nano")
"""Fields of a move that are numbers."""
NAMES = ("reasons", "topic", "topic_id")
"""Fields of a move that have few distinct values."""


class CodedValues(NamedTuple):
    """A column of few distinct values."""

    values: tuple[Any, ...]
    codes: NDArray[np.int64]
    """Index of the value in each row, [moves]."""

    def equals(self, other: CodedValues) -> bool:
        """Whether each row has the same value; a value may have several codes."""
        index = {value: code for code, value in enumerate(self.values)}
        own, others = (
            np.array([index.get(value, -1) for value in each.values], dtype=np.int64)[each.codes]
            for each in (self, other)
        )
        return bool(np.array_equal(own, others))


class MoveColumns(Sequence[Move]):
    """The moves of a plan, in its order; the objects are made when the first one is needed."""

    __slots__ = ("_moves", "lists", "names", "numbers")

    def __init__(
        self,
        lists: Mapping[str, Ragged],
        numbers: Mapping[str, NDArray[np.int64]],
        names: Mapping[str, CodedValues],
    ) -> None:
        self.lists = lists
        """`LISTS`: broker ids."""
        self.numbers = numbers
        """`NUMBERS`: -1 = unknown, int64 [moves]."""
        self.names = names
        """`NAMES`."""
        self._moves: tuple[Move, ...] | None = None

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves as objects."""
        if self._moves is None:
            self._moves = _moves_of(self)
        return self._moves

    @property
    def added(self) -> NDArray[np.int64]:
        """The number of replicas that each move adds, int64 [moves]."""
        after = self.lists["after"]
        return after.keep(~after.values_in(self.lists["before"])).lengths

    @property
    def reason_counts(self) -> dict[str, int]:
        """Reason -> the number of moves that have it, in the order of their first moves."""
        values, codes = self.names["reasons"]
        used, first, counts = np.unique(codes, return_index=True, return_counts=True)
        found: dict[str, int] = {}
        for at in np.argsort(first).tolist():
            for name in values[int(used[at])]:
                found[name] = found.get(name, 0) + int(counts[at])
        return found

    def take(self, order: NDArray[np.int64]) -> MoveColumns:
        """The moves with these numbers, in this order."""
        return MoveColumns(
            {name: lists.take(order) for name, lists in self.lists.items()},
            {name: numbers[order] for name, numbers in self.numbers.items()},
            {name: CodedValues(one.values, one.codes[order]) for name, one in self.names.items()},
        )

    def by_partition(self) -> MoveColumns:
        """The moves in the order of topics and partitions."""
        names, codes = self.names["topic"]
        rank = {name: number for number, name in enumerate(sorted({*names}))}
        ranks = np.array([rank[name] for name in names], dtype=np.int64)[codes]
        return self.take(np.lexsort((self.numbers["partition"], ranks)))

    @override
    def __len__(self) -> int:
        return len(self.numbers["partition"])

    @overload
    def __getitem__(self, index: int) -> Move: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Move, ...]: ...

    @override
    def __getitem__(self, index: int | slice) -> Move | tuple[Move, ...]:
        return self.moves[index]

    @override
    def __iter__(self) -> Iterator[Move]:
        return iter(self.moves)

    @override
    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            return self.moves == other
        if not isinstance(other, MoveColumns):
            return NotImplemented
        return (
            all(self.lists[name] == other.lists[name] for name in LISTS)
            and all(np.array_equal(self.numbers[name], other.numbers[name]) for name in NUMBERS)
            and all(self.names[name].equals(other.names[name]) for name in NAMES)
        )

    __hash__ = None  # type: ignore[assignment]

    @override
    def __repr__(self) -> str:
        return repr(self.moves)


def columns_of(moves: Sequence[Move]) -> MoveColumns:
    """The columns of moves."""
    if isinstance(moves, MoveColumns):
        return moves
    return MoveColumns(
        lists={name: lists_in(moves, name) for name in LISTS},
        numbers={name: numbers_in(moves, name) for name in NUMBERS},
        names={name: names_in(moves, name) for name in NAMES},
    )


def joined(first: Sequence[Move], second: Sequence[Move]) -> MoveColumns:
    """The columns of moves and of further moves."""
    both = columns_of(first), columns_of(second)
    return MoveColumns(
        lists={name: joined_lists([each.lists[name] for each in both]) for name in LISTS},
        numbers={name: np.concatenate([each.numbers[name] for each in both]) for name in NUMBERS},
        names={name: _joined_names(*(each.names[name] for each in both)) for name in NAMES},
    )


def all_moves(plan: Plan) -> Sequence[Move]:
    """The moves and the later moves of a plan, in columns if it has both."""
    return joined(plan.moves, plan.later) if plan.later else plan.moves


def joined_lists(parts: Sequence[Ragged]) -> Ragged:
    """The rows of each part, one part after the other."""
    lengths = np.concatenate([part.lengths for part in parts])
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Ragged(offsets, np.concatenate([part.values for part in parts]))


def _joined_names(first: CodedValues, second: CodedValues) -> CodedValues:
    """The values of both, each once."""
    codes = {value: code for code, value in enumerate(dict.fromkeys(first.values + second.values))}
    of_rows = [
        np.array([codes[value] for value in each.values], dtype=np.int64)[each.codes]
        for each in (first, second)
    ]
    return CodedValues((*codes,), np.concatenate(of_rows))


def lists_in(moves: Sequence[Move], name: str) -> Ragged:
    """The lists of broker ids in one field."""
    if isinstance(moves, MoveColumns):
        return moves.lists[name]
    lists: list[tuple[int, ...]] = [getattr(move, name) for move in moves]
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)), out=offsets[1:])
    values = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=int(offsets[-1]))
    return Ragged(offsets, values)


def numbers_in(moves: Sequence[Move], name: str) -> NDArray[np.int64]:
    """The numbers in one field, int64 [moves]."""
    if isinstance(moves, MoveColumns):
        return moves.numbers[name]
    numbers: list[int | None] = [getattr(move, name) for move in moves]
    known = [UNKNOWN if number is None else number for number in numbers]
    return np.array(known, dtype=np.int64)


def names_in(moves: Sequence[Move], name: str) -> CodedValues:
    """The values in one field."""
    if isinstance(moves, MoveColumns):
        return moves.names[name]
    values = [getattr(move, name) for move in moves]
    codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return CodedValues((*codes,), np.array([codes[value] for value in values], dtype=np.int64))


def _moves_of(columns: MoveColumns) -> tuple[Move, ...]:
    lists = {name: _tuples(columns.lists[name]) for name in LISTS}
    numbers = {
        name: [None if number < 0 else number for number in columns.numbers[name].tolist()]
        for name in ("bytes", "cross_bytes", "usd_nano")
    }
    names = {
        name: map(values.__getitem__, codes.tolist())
        for name, (values, codes) in columns.names.items()
    }
    return tuple(
        [
            Move(
                topic=topic,
                partition=partition,
                topic_id=topic_id,
                before=before,
                after=after,
                bytes=size,
                cross_bytes=cross_bytes,
                usd_nano=usd_nano,
                reasons=reasons,
            )
            for topic, partition, topic_id, before, after, size, cross_bytes, usd_nano, reasons in (
                zip(
                    names["topic"],
                    columns.numbers["partition"].tolist(),
                    names["topic_id"],
                    lists["before"],
                    lists["after"],
                    numbers["bytes"],
                    numbers["cross_bytes"],
                    numbers["usd_nano"],
                    names["reasons"],
                    strict=True,
                )
            )
        ]
    )


def _tuples(lists: Ragged) -> list[tuple[int, ...]]:
    values = tuple(lists.values.tolist())
    return [values[start:end] for start, end in pairwise(lists.offsets.tolist())]
