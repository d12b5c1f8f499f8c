"""The counts of a compacted day, declared once for Spark and for the command line.

This file imports no PySpark, so that the schema of the printed document does not need it either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactCounts:
    """Outcomes of the messages of one day."""

    messages: int
    """All messages: accepted + superseded + duplicate + quarantined."""
    accepted: int
    """Messages that count."""
    superseded: int
    """Messages with a lower revision than the accepted one."""
    duplicate: int
    """Messages with the same revision as the accepted one."""
    quarantined: int
    """Malformed messages, and messages that arrived too late."""
    conflicts: int
    """Duplicates whose content differs from the accepted message."""
    late: int
    """Kept messages that arrived more than 2 hours after their window."""
    rows: int
    """Rows of the accepted messages."""
    bytes: int
    """Bytes of the accepted messages."""
    batches: int
    """Batches of the stream that have messages of the day."""
    reasons: Mapping[str, int]
    """Reason -> quarantined messages."""
