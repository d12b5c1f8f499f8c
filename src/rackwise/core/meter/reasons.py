"""Why a metered number is exact, estimated or not known; each with its cause and its cure.

A number has one reason. Where several hold, `growth` and `reads` say which one counts: one that
leaves the number unknown, before one that makes it an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final


class Reason(IntEnum):
    """Index into `REASONS`."""

    EXACT = 0
    RECREATED = 1
    ABSENT = 2
    NOT_READ = 3
    WENT_BACK = 4
    NO_SIZE = 5
    CLEANED = 6
    NO_COMMIT = 7
    RESET = 8
    NO_BYTES = 9
    TAIL = 10
    AT_LEAST = 11
    MEAN = 12
    NO_POLICY = 13
    LEADER_CHANGED = 14
    NEW_PARTITION = 15
    OTHER_RECORDS = 16
    FAR_APART = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonText:
    """What a reason says to people."""

    name: str
    """Its name in tables, such as `recreated`."""
    is_known: bool
    """Whether there is a number."""
    cause: str
    """A sentence without its point; empty for an exact number."""
    cure: str = ""
    """An imperative sentence without its point; empty where nothing is to do."""


_LOOK_AGAIN = "take the next snapshot; the time after the change is metered again"
_READ_OFFSETS = (
    "take both snapshots with `rackwise snapshot` as a principal that may describe all topics"
)

REASONS: Final = (
    ReasonText(name="exact", is_known=True, cause=""),
    ReasonText(
        name="recreated",
        is_known=False,
        cause="the topic was deleted and created again between the two snapshots",
        cure=_LOOK_AGAIN,
    ),
    ReasonText(
        name="absent",
        is_known=False,
        cause="the topic is not in the earlier snapshot",
        cure=_LOOK_AGAIN,
    ),
    ReasonText(
        name="not-read",
        is_known=False,
        cause="an offset is missing in one of the two snapshots",
        cure=_READ_OFFSETS,
    ),
    ReasonText(
        name="went-back",
        is_known=False,
        cause="the end of the log went back: records were lost in an unclean leader election",
        cure=_LOOK_AGAIN,
    ),
    ReasonText(
        name="no-size",
        is_known=False,
        cause="the size of the log is missing in both snapshots",
        cure="take snapshots with sizes (Cluster:Describe)",
    ),
    ReasonText(
        name="cleaned",
        is_known=False,
        cause="the topic is compacted, its log shrank, and its last batches are not known",
        cure="grant Topic:Read, so that `rackwise snapshot` reads the end of the log",
    ),
    ReasonText(
        name="no-commit",
        is_known=False,
        cause="the group has no committed offset in one of the two snapshots",
        cure="take both snapshots while the group exists, without --no-groups",
    ),
    ReasonText(
        name="reset",
        is_known=False,
        cause="the committed offset of the group went back",
        cure=_LOOK_AGAIN,
    ),
    ReasonText(
        name="no-bytes",
        is_known=False,
        cause="the number of records is known, their bytes are not",
        cure="take snapshots with sizes (Cluster:Describe)",
    ),
    ReasonText(
        name="tail",
        is_known=True,
        cause="the topic is compacted: records times their mean size at the end of the log",
    ),
    ReasonText(
        name="at-least",
        is_known=True,
        cause="the topic is compacted: the growth of the log is a lower bound",
        cure="grant Topic:Read, so that `rackwise snapshot` reads the end of the log",
    ),
    ReasonText(
        name="mean",
        is_known=True,
        cause="segments were deleted: records times their mean size in the log",
    ),
    ReasonText(
        name="no-policy",
        is_known=True,
        cause="`cleanup.policy` is not known; a compacted topic grows by less than is written",
        cure="grant Topic:DescribeConfigs",
    ),
    ReasonText(
        name="leader-changed",
        is_known=True,
        cause="the leader changed; half of the time counts for the earlier one",
    ),
    ReasonText(
        name="new-partition",
        is_known=True,
        cause="the partition is new since the earlier snapshot",
    ),
    ReasonText(
        name="other-records",
        is_known=True,
        cause="the group read records that were written before: their mean size is used",
    ),
    ReasonText(
        name="far-apart",
        is_known=True,
        cause="the two snapshots are more than seven days apart",
        cure="take snapshots every hour or every day",
    ),
)
"""Reason -> what it says; in the order of `Reason`."""
