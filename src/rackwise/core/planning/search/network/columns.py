"""The columns of a network of replicas, and the meaning of its arcs.

```
arc             row  broker  leaf  is_hub  is_new
row -> broker     4       1     0   no     no       row 4 keeps its replica on broker 1
row -> hub        4      -1     0   yes    yes      row 4 gets a replica on some broker of rack 0
hub -> broker    -1       2    -1   yes    no       broker 2 takes a unit from the hub
hub -> node      -1      -1    -1   yes    no       a node of a tree takes a unit from a partial hub
broker -> group  -1       2    -1   no     no       an exit
```

A search holds all arcs while the solver, which copies them, runs. So a column has the smallest type
of integers that holds its values.

Limits: this module does not define which arcs exist (`network` does).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rackwise.core.model import Ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetNetwork:
    """The arcs of a network and their meaning.

    `row` with `broker`: a replica of the row on the broker. `row` with `leaf` and without `broker`:
    a replica on some broker of the rack; the arcs of its hub decide which. `is_hub` without
    `row`: from the hub of a rack, or of a capped topic, to a broker or to a node of a tree. -1 is
    absent.
    """

    tails: NDArray[np.int32]
    """Node at the start of each arc, int32 [arcs]."""
    heads: NDArray[np.int32]
    """Node at the end of each arc, int32 [arcs]."""
    capacities: NDArray[np.signedinteger]
    """Most units on each arc, [arcs]."""
    supplies: NDArray[np.int64]
    """Units that each node supplies, int64 [nodes]."""
    row: NDArray[np.int32]
    """Row of the replica, int32 [arcs]."""
    broker: NDArray[np.signedinteger]
    """Broker of the replica, [arcs]."""
    leaf: NDArray[np.signedinteger]
    """Finest rack of the replica, [arcs]."""
    is_hub: NDArray[np.bool_]
    """Whether the replica goes through a hub, bool [arcs]."""
    is_new: NDArray[np.bool_]
    """Whether the replica is copied, bool [arcs]."""
    is_second: NDArray[np.bool_]
    """Whether the arc carries further units of a row to one hub, bool [arcs]."""
    shared: int
    """Number of nodes that belong to no row."""
    rows: int
    """First node that belongs to a row; nodes of trees and partial hubs may follow it."""
    exits: int
    """First arc that leaves a broker; from there on `broker` is the tail."""
    waiting: NDArray[np.int64]
    """(row, leaf, node of the hub) of the units that start in a hub, int64 [units, 3]."""
    most_left_out: int
    """The most brokers of its rack that a partial hub leaves out."""
    group: NDArray[np.int32]
    """Group of rows that an arc carries, one after the other; -1 if it is `row` alone."""
    members: Ragged
    """Rows of each group, ascending."""
    kept: NDArray[np.int64]
    """(row, broker) of the replicas that stay whatever the flow, int64 [replicas, 2]."""


class Piece(NamedTuple):
    """A part of the arcs."""

    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    capacities: NDArray[np.int64]
    row: NDArray[np.int64] | int = NONE
    broker: NDArray[np.int64] | int = NONE
    leaf: NDArray[np.int64] | int = NONE
    is_hub: bool = False
    is_new: bool = False
    is_second: bool = False
    group: NDArray[np.int64] | int = NONE


_FLAGS = ("is_hub", "is_new", "is_second")


class ArcColumns:
    """The arcs of a network, collected in parts; each column is joined only once."""

    def __init__(self, *, brokers: int, leaves: int, units: int) -> None:
        """`units`: no arc carries more, so that larger capacities are cut to it.

        The columns that are not mentioned here are int32.
        """
        self._units = units
        most = {"broker": brokers, "leaf": leaves, "capacities": units}
        self._types: dict[str, np.dtype[Any]] = {
            **{name: np.min_scalar_type(NONE - most[name]) for name in most},
            **dict.fromkeys(_FLAGS, np.dtype(np.bool_)),
        }
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in Piece._fields}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, piece: Piece) -> None:
        """Append a part."""
        count = len(piece.tails)
        self._count += count
        # A cap of a caller may be any number; a smaller type would have another one in its place.
        piece = piece._replace(capacities=np.minimum(piece.capacities, self._units))
        for name, column in piece._asdict().items():
            narrow: NDArray[Any] = np.asarray(column, dtype=self._types.get(name, np.int32))
            self._parts[name].append(np.broadcast_to(narrow, count))

    def join(self, name: str) -> NDArray[Any]:
        """A column of all arcs, whose parts are then forgotten."""
        # All columns in parts and joined would be the peak of memory of a search.
        return np.concatenate(self._parts.pop(name))


def join_pieces(
    arcs: ArcColumns,
    supplies: NDArray[np.int64],
    *,
    shared: int,
    rows: int,
    exits: int,
    waiting: Sequence[NDArray[np.int64]],
    most_left_out: int,
    members: Sequence[tuple[NDArray[np.int64], NDArray[np.int32]]],
    kept: Sequence[NDArray[np.int64]],
) -> SetNetwork:
    """The network of several parts, one after the other; the columns of `arcs` are then empty."""
    return SetNetwork(
        **{name: arcs.join(name) for name in Piece._fields},
        supplies=supplies,
        shared=shared,
        rows=rows,
        exits=exits,
        waiting=np.concatenate([np.zeros((0, 3), dtype=np.int64), *waiting]),
        most_left_out=most_left_out,
        members=_join_members(members),
        kept=np.concatenate([np.zeros((0, 2), dtype=np.int64), *kept]),
    )


def _join_members(members: Sequence[tuple[NDArray[np.int64], NDArray[np.int32]]]) -> Ragged:
    sizes = np.concatenate([np.zeros(1, dtype=np.int64), *(part[0] for part in members)])
    rows = np.concatenate([np.zeros(0, dtype=np.int32), *(part[1] for part in members)])
    return Ragged(np.cumsum(sizes), rows)
