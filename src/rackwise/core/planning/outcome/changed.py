"""The partitions whose replica lists a plan changes, with lists and leaders before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.outcome.dollars import leaders_of
from rackwise.core.text import SHOWN_NAMES, counted, names_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.view import View


class ChangedRows(NamedTuple):
    """The changed rows before and after the plan."""

    rows: NDArray[np.int64]
    """Rows of the partition table, ascending, int64 [rows]."""
    before: Ragged
    """Broker ids before."""
    after: Ragged
    """Broker ids after."""
    leaders: tuple[NDArray[np.int64], NDArray[np.int64]]
    """Leaders before and after: broker ids, -1 = none, int64 [rows]."""

    @classmethod
    def of(cls, view: View, lists: Ragged) -> ChangedRows:
        """From the lists after the plan: broker ids of all partitions."""
        rows = np.flatnonzero(~view.placed.equal_rows(lists))
        before, after = leaders_of(view, lists)
        return cls(rows, view.placed.take(rows), lists.take(rows), (before[rows], after[rows]))


def unknown_reasons(view: View, rows: NDArray[np.int64], what: str, cure: str) -> list[str]:
    """Why something of these partitions is not known, in one sentence; none without partitions.

    `what`: the cause, with `{}` in place of the partitions.
    """
    if not len(rows):
        return []
    shown = [view.table.name(row) for row in rows[:SHOWN_NAMES].tolist()]
    named = names_text(shown, of=len(rows))
    return [f"{what.format(counted(len(rows), 'moved partition'))} ({named}); {cure}"]
