"""The moves of a plan as text: one aligned line for each of the first moves, and where the rest is.

```
~ orders-4   1,2,4 -> 1,3,4   spread-even   12.4 GiB, 12.4 GiB cross
  topic and  lists before     reasons       bytes to copy, and how many of them
  partition  and after                      cross racks
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.cli.tables import aligned_lines, arrow_column, ids
from rackwise.core.planning.outcome.move_columns import columns_of
from rackwise.core.text import escaped
from rackwise.report.formats import bytes_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.planning.model import Move

MOVES_SHOWN = 20


def moves_text(moves: Sequence[Move], *, has_color: bool) -> str:
    """Format the first moves: `~ orders-4  1,2,4 -> 1,3,4  spread-even  12.4 GiB`."""
    if not moves:
        return ""
    # Only the moves that are shown become objects: a plan may have a million.
    shown = columns_of(moves).take(np.arange(min(len(moves), MOVES_SHOWN))).moves
    lists = arrow_column([(ids(move.before), ids(move.after)) for move in shown])
    rows = [
        (
            f"{escaped(move.topic)}-{move.partition}",
            arrow,
            " ".join(map(escaped, move.reasons)) or "-",
            _copied(move),
        )
        for move, arrow in zip(shown, lists, strict=True)
    ]
    lines = aligned_lines(rows, mark="\x1b[33m~\x1b[0m " if has_color else "~ ")
    if len(moves) > len(shown):
        lines.append(
            f"and {len(moves) - len(shown)} more of {len(moves)} moves; --json and the file of "
            "--out have all"
        )
    return "\n".join([*lines, ""])


def _copied(move: Move) -> str:
    """Format `12.4 GiB, 12.4 GiB cross`. A move that changes only the order copies nothing."""
    added = len(move.added)
    if not added:
        return "nothing to copy"
    if move.bytes is None:
        return "size unknown"
    copied = bytes_text(move.bytes * added)
    return copied if move.cross_bytes is None else f"{copied}, {bytes_text(move.cross_bytes)} cross"
