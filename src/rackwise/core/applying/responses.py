"""The meaning of answers to requests: accepted, rejected, to be repeated, unknown.

```
no error                                  accepted
time-out, unknown error, no answer        unknown: readings show the result; then it may be repeated
controller moved, quota, unknown topic    not executed: repeated a second later, 5 times in all
any other error                           rejected for the rest of this run
```

A rejected cancel changes nothing here: the next reading shows what moves. If Kafka rejects the
order of before, as Kafka 4.4 does for a list with a cordoned broker, the move is cancelled with its
replicas in another order. It is not requested again in this run.

Source: KIP-455; `ReplicationControlManager.alterPartitionReassignments` for the errors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import BatchResult, ElectResult, PartitionLine
from rackwise.core.applying.model import CANCELLED_AS
from rackwise.core.applying.requests import Step, journal_first, look

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.applying.actions import Altered, Elected
    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import ApplyState, PartitionClass
    from rackwise.core.model import PartitionId

NO_ANSWER = "REQUEST_TIMED_OUT"
"""The error of a request that is not answered."""
UNKNOWN = frozenset({NO_ANSWER, "UNKNOWN_SERVER_ERROR", "NETWORK_EXCEPTION"})
"""Errors after which the result of a request is unknown."""
AGAIN = frozenset(
    {
        "NOT_CONTROLLER",
        "THROTTLING_QUOTA_EXCEEDED",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
    }
)
"""Errors after which the request was not executed and may be repeated."""
ELECTED = frozenset({None, "ELECTION_NOT_NEEDED"})
"""The results after which the preferred replica leads."""


def on_altered(state: ApplyState, answer: Altered) -> Step:
    """Record the result of a reassignment request, and read the cluster."""
    partitions = dict(state.partitions)
    accepted, refused, unknown = _sort_answers(state.queried, answer.answers)
    lines: list[Line] = [
        BatchResult(
            batch=state.batch,
            act=state.act,
            accepted=accepted,
            refused=refused,
            unknown=unknown,
        )
    ]
    for partition in accepted:
        before = replace(partitions[partition], code=None)
        is_move = state.act == "move"
        partitions[partition] = replace(before, sent="sent", class_="moving") if is_move else before
    class_ = _class_if_rejected(state)
    for partition, code in refused:
        before = replace(partitions[partition], code=code)
        if class_ is not None and code not in AGAIN:
            before = replace(before, class_=class_, is_certain=True, journalled_class=class_)
            lines.append(PartitionLine(partition=partition, class_=class_, code=code))
        partitions[partition] = before
    for partition in unknown:
        code_of_unknown = answer.answers.get(partition)
        partitions[partition] = replace(partitions[partition], code=code_of_unknown)
    begun = state.begun - {each for each in state.queried if partitions[each].class_ == "refused"}
    answered = replace(state, partitions=partitions, begun=begun)
    return journal_first(lines, look(answered, answer.at_ms))


def _class_if_rejected(state: ApplyState) -> PartitionClass | None:
    """The class of a partition whose request Kafka rejects; None: the next reading shows it."""
    if state.act == "cancel":
        return None
    return "refused" if state.act == "move" else CANCELLED_AS[state.mode]


def on_elected(state: ApplyState, answer: Elected) -> Step:
    """Record the result of an election request, and read the cluster."""
    partitions = dict(state.partitions)
    answers = {
        partition: None if code in ELECTED else code for partition, code in answer.answers.items()
    }
    done, refused, unknown = _sort_answers(state.queried, answers)
    for partition in done:
        partitions[partition] = replace(partitions[partition], is_elected=True, code=None)
    for partition, code in refused:
        partitions[partition] = replace(partitions[partition], code=code)
    line = ElectResult(batch=state.batch, elected=done, refused=refused, unknown=unknown)
    return journal_first((line,), look(replace(state, partitions=partitions), answer.at_ms))


def _sort_answers(
    asked: tuple[PartitionId, ...], answers: Mapping[PartitionId, str | None]
) -> tuple[tuple[PartitionId, ...], tuple[tuple[PartitionId, str], ...], tuple[PartitionId, ...]]:
    """Accepted partitions, rejected ones with the name of the error, unknown ones."""
    accepted = tuple(each for each in asked if each in answers and answers[each] is None)
    refused = tuple(
        (each, code)
        for each in asked
        if (code := answers.get(each)) is not None and code not in UNKNOWN
    )
    known = {*accepted, *(each for each, _ in refused)}
    return accepted, refused, tuple(each for each in asked if each not in known)
