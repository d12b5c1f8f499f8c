"""The class of one partition, from what the cluster shows and what the journal says.

Goals, in order: never take a change by others for ours, and never overwrite it; never send a
request twice where one reading is enough; every partition is in exactly one class.

```
topic id     list       reassigning to     journal         class
other, none  -          -                  -               topic_gone
same         -          after (as a set)   intent, sent    moving
same         -          after (as a set)   none            foreign_moving
same         -          another            any             diverged
same         = after    no                 any             done
same         = before   no                 sent            cancelled_externally
same         = before   no                 any other       not_started
same         another    no                 any             diverged
```

Example, a move 0,1,2 -> 0,1,3 that was sent: the list 0,1,3,2 adding 3 removing 2 is on its way to
0,1,3, so the class is `moving`. The list 0,1,2 again shows that another tool cancelled the move.

Lists are compared in order, because the first replica is the preferred leader. A running
reassignment is compared as a set, because Kafka puts the removed replicas last. A cancel only
removes the added replicas from that list: of 1,2,3 -> 4,1,3 it leaves 1,3,2. After a request this
counts as `before`. In the journal `cancelling` says that this tool cancelled the move, so no other
tool did.

What this does not do: decide whether the reading is late. The caller does.

Source: KIP-455 for the form of a running reassignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwise.core.applying.model import ObservedPartition, PartitionClass, RequestStatus
    from rackwise.core.planning.model import Move


def classify(move: Move, seen: ObservedPartition | None, sent: RequestStatus) -> PartitionClass:
    """The class of one partition; `seen` is None where the topic does not exist.

    An unknown topic id is equal to every topic id.
    """
    if seen is None or _is_other_topic(move.topic_id, seen.topic_id):
        return "topic_gone"
    if seen.is_reassigning:
        if set(seen.target) != set(move.after):
            return "diverged"
        return "foreign_moving" if sent == "none" else "moving"
    if seen.replicas == move.after:
        return "done"
    if seen.replicas == move.before or (sent != "none" and is_in_cancel_order(move, seen)):
        return "cancelled_externally" if sent == "sent" else "not_started"
    return "diverged"


def is_in_cancel_order(move: Move, seen: ObservedPartition) -> bool:
    """Whether the list has the brokers of `before` in the order that a cancel leaves.

    Source: `PartitionReassignmentRevert`.
    """
    kept = tuple(each for each in move.after if each in move.before)
    return (
        not seen.is_reassigning
        and seen.replicas != move.before
        and set(seen.replicas) == set(move.before)
        and seen.replicas[: len(kept)] == kept
    )


def _is_other_topic(planned: str | None, seen: str | None) -> bool:
    return planned is not None and seen is not None and planned != seen
