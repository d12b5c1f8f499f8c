"""Consumer groups in the form of the golden vectors: `golden/vectors-consumer.json`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laws import check_assignment
from rackwise.core.assignors.kafka.cooperative import assign_cooperative
from rackwise.core.assignors.kafka.owned import NOBODY, NumberedGroup, Owned
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.kafka.roundrobin import assign_roundrobin
from rackwise.core.assignors.kafka.sticky import _subscriptions_look_equal, assign_sticky
from rackwise.core.assignors.kafka.sticky_mixed import assign_mixed
from rackwise.core.assignors.kafka.sticky_same import assign_same
from rackwise.core.assignors.members import Assignment, Member, TopicPartition
from rackwise.core.assignors.order import utf16_key
from rackwise.core.assignors.server.range import assign_server_range
from rackwise.core.assignors.server.uniform import assign_uniform
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json import strict as strict_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pytest

    from rackwise.core.assignors.members import Members

GOLDEN = Path(__file__).parent / "golden" / "vectors-consumer.json"
ASSIGNORS = {"assign.range": assign_range, "assign.roundrobin": assign_roundrobin}
"""By the oracle's operations."""
SERVER_ASSIGNORS = {
    "coordinator.range": lambda members, racks, _: assign_server_range(members, racks),
    "coordinator.uniform": lambda members, racks, ids: assign_uniform(
        members, racks, topic_ids=ids
    ),
}
"""By the oracle's operations; they are also told the ids of topics."""


def consumer_vectors(section: str) -> Any:
    """One section of the file."""
    found: dict[str, Any] = strict_json.parse(
        GOLDEN.read_bytes(), where=GOLDEN.name, error=InvalidSnapshot
    )
    return found[section]


def pairs(told: Iterable[Sequence[Any]]) -> tuple[TopicPartition, ...]:
    """Pairs from [topic, partition]."""
    return tuple(TopicPartition(topic, partition) for topic, partition in told)


def tps(text: str) -> tuple[TopicPartition, ...]:
    """Partitions from `t-0 t-1 u-0`."""
    found = (name.rpartition("-") for name in text.split())
    return tuple(TopicPartition(topic, int(partition)) for topic, _, partition in found)


def members_of(told: Iterable[Mapping[str, Any]]) -> Members:
    """Members from `{"id", "topics", "rack", "instance", "owned", "generation"}`."""
    return {
        member["id"]: Member(
            topics=tuple(member["topics"]),
            rack=member.get("rack"),
            instance_id=member.get("instance"),
            owned=pairs(member.get("owned", ())),
            generation=member.get("generation", -1),
        )
        for member in told
    }


def group_of(topics: Sequence[str], **racks: str | None) -> Members:
    """Members with these ids in these racks; all subscribe to the same topics."""
    return {member: Member(topics=tuple(topics), rack=rack) for member, rack in racks.items()}


def replicas_in(**topics: str) -> dict[str, list[list[str]]]:
    """Replica racks from t="ab bc -": one word per partition, one letter per replica."""
    return {
        topic: [[rack for rack in word if rack != "-"] for word in words.split()]
        for topic, words in topics.items()
    }


def given(told: Mapping[str, Iterable[Sequence[Any]]]) -> dict[str, tuple[TopicPartition, ...]]:
    """The assignment that a vector expects, by member."""
    return {member: pairs(told[member]) for member in told}


def assignment_of(told: Mapping[str, Iterable[Sequence[Any]]]) -> Assignment:
    """The assignment of a vector."""
    return Assignment.of(given(told))


def members_after(case: Mapping[str, Any]) -> Members:
    """The members of a vector after they got what it expects; no generation is known."""
    expected = given(case["expected"])
    return {
        name: replace(member, owned=expected[name], generation=-1)
        for name, member in members_of(case["members"]).items()
    }


def mismatches(
    assignment: Assignment, members: Members, racks: Mapping[str, Sequence[Sequence[str | None]]]
) -> int:
    """The number of partitions whose member has a rack that no replica has."""
    return sum(
        1
        for member, found in assignment.partitions.items()
        for tp in found
        if members[member].rack and members[member].rack not in racks[tp.topic][tp.partition]
    )


def hide_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide ortools, as if it were not installed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "ortools"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ortools", None)


def our_assignment(operation: str, case: Mapping[str, Any]) -> dict[str, Any]:
    """Our answer to a case of the oracle, in the oracle's form."""
    members, racks = members_of(case["members"]), case["topics"]
    if operation in SERVER_ASSIGNORS:
        made = SERVER_ASSIGNORS[operation](members, racks, case["ids"])
    else:
        made = ASSIGNORS[operation](members, racks)
    told = {
        member: [list(tp) for tp in made.partitions[member]]
        for member in sorted(made.partitions, key=utf16_key)
    }
    return {"in": case, "out": {"partitions": told}}


def verbatim_sticky(
    members: Members, racks: Mapping[str, Sequence[Sequence[str | None]]]
) -> Mapping[str, tuple[TopicPartition, ...]] | None:
    """Upstream's sticky answer, valid or not; None if it throws or does not end."""
    group = NumberedGroup.of(members, racks)
    owned = Owned.of(group)
    if _subscriptions_look_equal(group):
        holders, _ = assign_same(group, owned)
    else:
        holders = assign_mixed(group, owned, valid=False)
    return None if NOBODY in holders else group.assignment(members, holders).partitions


def check_sticky_answers(
    case: Mapping[str, Any], ask: Callable[[str], Mapping[str, Any]], where: object
) -> None:
    """Check that our sticky and cooperative assignments equal upstream's wherever those are valid.

    `ask`: operation of the oracle -> upstream's answer by member. Ours withholds more.
    """
    members, racks = members_of(case["members"]), case["topics"]
    ours, careful = assign_sticky(members, racks), assign_cooperative(members, racks)
    wanted = verbatim_sticky(members, racks)
    if wanted is not None:
        assert _sorted(wanted) == _sorted(given(ask("assign.sticky"))), where
    if ours.partitions == wanted:
        had = given(ask("assign.cooperative"))
        for name, mine in careful.partitions.items():
            more = set(had[name]) - set(mine)
            assert not set(mine) - set(had[name]), where
            assert more <= careful.withheld.keys() & set(members[name].owned), where
    else:
        check_assignment(ours, members, {topic: len(racks[topic]) for topic in racks})


def _sorted(
    partitions: Mapping[str, Iterable[TopicPartition]],
) -> dict[str, list[TopicPartition]]:
    return {name: sorted(mine) for name, mine in partitions.items()}
