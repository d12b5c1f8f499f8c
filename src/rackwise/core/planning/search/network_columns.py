"""The columns of a network of replicas, and the meaning of its arcs.

```
arc             row  broker  leaf  hub  is_new
row -> broker     4       1     0   -1   no       row 4 keeps what broker 1 holds
row -> hub        4      -1     0    0   yes      row 4 gets one on some broker of rack 0
hub -> broker    -1       2    -1    0   no       broker 2 takes what the hub sends
broker -> group  -1       2    -1   -1   no       an exit
```

What this does not do: say which arcs there are (`network`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetNetwork:
    """Arcs and what they mean; all int64 [arcs] but `supplies` [nodes].

    `row` and `broker`: a replica of the row on the broker; `row` and `leaf` alone: one on some
    broker of the rack, told by the arcs of its hub; `hub` and `broker`: from the hub of a rack (of
    a capped topic) to a broker. Absent is -1. `is_new`: whether the replica is copied. `shared`:
    number of nodes that belong to no row. `exits`: first arc that leaves a broker; from there on
    `broker` is the broker. `waiting`: (row, leaf, hub) of units that start in a hub.
    """

    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    capacities: NDArray[np.int64]
    supplies: NDArray[np.int64]
    row: NDArray[np.int64]
    broker: NDArray[np.int64]
    leaf: NDArray[np.int64]
    hub: NDArray[np.int64]
    is_new: NDArray[np.bool_]
    shared: int
    exits: int
    waiting: NDArray[np.int64]


class Piece(NamedTuple):
    """A piece of the arcs."""

    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    capacities: NDArray[np.int64]
    row: NDArray[np.int64] | int = NONE
    broker: NDArray[np.int64] | int = NONE
    leaf: NDArray[np.int64] | int = NONE
    hub: NDArray[np.int64] | int = NONE
    is_new: bool = False


def joined(
    pieces: Sequence[Piece],
    supplies: NDArray[np.int64],
    *,
    shared: int,
    exits: int,
    waiting: Sequence[NDArray[np.int64]],
) -> SetNetwork:
    """Pieces one behind the other."""
    return SetNetwork(
        tails=np.concatenate([piece.tails for piece in pieces]),
        heads=np.concatenate([piece.heads for piece in pieces]),
        capacities=np.concatenate([piece.capacities for piece in pieces]),
        supplies=supplies,
        row=_column(pieces, "row"),
        broker=_column(pieces, "broker"),
        leaf=_column(pieces, "leaf"),
        hub=_column(pieces, "hub"),
        is_new=_column(pieces, "is_new").astype(np.bool_),
        shared=shared,
        exits=exits,
        waiting=np.concatenate([np.zeros((0, 3), dtype=np.int64), *waiting]),
    )


def _column(pieces: Sequence[Piece], name: str) -> NDArray[np.int64]:
    return np.concatenate(
        [
            np.broadcast_to(np.asarray(getattr(piece, name), dtype=np.int64), len(piece.tails))
            for piece in pieces
        ]
    )
