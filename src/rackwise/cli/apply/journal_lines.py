"""The lines of a journal as the commands read them, without the key that the driver adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwise.adapters.files.journal import Journal
    from rackwise.core.applying.journal.lines import Line


def read_lines(journal: Journal, *, first: int = 0) -> tuple[Line, ...]:
    """The lines of a journal from number `first` on. Raises `InvalidPlan` for an unknown form."""
    from rackwise.adapters.kafka.applying.driver import REPLICATION_FLAG
    from rackwise.core.applying.journal.codec import line_of

    return tuple(
        line_of(
            {"type": entry.type}
            | {key: each for key, each in entry.fields.items() if key != REPLICATION_FLAG},
            where=f"{journal.path}:{entry.seq}",
        )
        for entry in journal.entries[first:]
    )
