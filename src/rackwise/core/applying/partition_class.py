"""In which class a partition of the plan is, from what the cluster shows and the journal says.

Goals, in order: nothing that others did is taken for ours, or overwritten; nothing is sent twice
where one look tells; every partition is in exactly one class.

```
topic id     list       reassigning to     journal         class
other, gone  -          -                  -               topic_gone
same         -          after (as a set)   intent, sent    moving
same         -          after (as a set)   none            foreign_moving
same         -          another            any             diverged
same         = after    no                 any             done
same         = before   no                 sent            cancelled_externally
same         = before   no                 intent, none    not_started
same         another    no                 any             diverged
```

Example, a move 0,1,2 -> 0,1,3 that was sent: the list 0,1,3,2 adding 3 removing 2 is on its way to
0,1,3, so it is `moving`; the list 0,1,2 again says that someone took it back.

Lists are compared with their order, as it decides who leads; what is under way is compared as a
set, as Kafka puts the leaving replicas last. A cancel only takes the added ones out of that list:
of 1,2,3 -> 4,1,3 it leaves 1,3,2. Where something was asked for, this counts as `before` too.

What this does not do: wonder whether what it is shown is late; that is settled by who calls it.

Source: KIP-455 for what a reassignment under way looks like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwise.core.applying.model import Class, Seen, Sent
    from rackwise.core.planning.model import Move


def classify(move: Move, seen: Seen | None, sent: Sent) -> Class:
    """The class of one partition; `seen` is None where its topic is not there.

    Where one of the two topic ids is not known they count as the same.
    """
    if seen is None or _is_other_topic(move.topic_id, seen.topic_id):
        return "topic_gone"
    if seen.is_reassigning:
        if set(seen.target) != set(move.after):
            return "diverged"
        return "foreign_moving" if sent == "none" else "moving"
    if seen.replicas == move.after:
        return "done"
    if seen.replicas == move.before or (sent != "none" and is_turned(move, seen)):
        return "cancelled_externally" if sent in {"sent", "cancelling"} else "not_started"
    return "diverged"


def is_turned(move: Move, seen: Seen) -> bool:
    """The brokers of before in the order in which a cancel leaves them, and not in their own.

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
