"""The check before the first write: whether a plan may run on the cluster as it is now.

Goals, in order: a plan of another state of the cluster writes nothing; every difference is reported
with the expected and the actual value; a move that is already done is no difference.

```
the cluster id                             another              WrongCluster
a move's topic id, its list                another, not after   StalePlan
the topic's number of partitions           another              StalePlan
the move's brokers: rack; listed, live     another, gone        StalePlan
a broker of the new list is cordoned       -                    StalePlan
a reassignment that is not ours            runs                 ForeignReassignment
free disk of the receivers, less reserve   too little           NoRoom, for what the run may begin
```

Each difference belongs to moves, so that `allow_partial` can leave out only these. Once a part of
the plan was executed, lists are not compared with `before` any more: what others changed is a class
of that move and not a difference.

What this does not do: check what is unknown (an unknown size or disk counts as enough); lock
anything: the cluster may change right after the check.

Racks are compared as the plan counts them (`core.odd_racks`): with the map of its policy from plain
names to paths, a broker that restarts with the path of its name is in the same rack.

Kafka rejects a list that names a cordoned broker, also if that broker holds the partition.

Source: KIP-455; KIP-516 (topic ids); KIP-827 (free disk); KIP-1066 (cordons).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.applying.partition_class import classify
from rackwise.core.errors import ForeignReassignment, NoRoom, StalePlan, WrongCluster
from rackwise.core.odd_racks import NO_MAP, settle_racks
from rackwise.core.text import are, counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwise.core.applying.budget import BudgetRoom
    from rackwise.core.applying.model import ObservedPartition, RequestStatus
    from rackwise.core.model import Broker, PartitionId
    from rackwise.core.planning.model import Move, Plan
    from rackwise.core.racks import Rack

RESERVE = 10
"""Per cent of a broker's disks that stay free."""
SHOWN = 10
"""Number of differences in the message; the error's `had` contains all."""
NOTHING_SENT: Mapping[PartitionId, RequestStatus] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """The state of the cluster that the check needs."""

    cluster_id: str | None
    brokers: Mapping[int, Broker]
    """By id, with log folders where they were read."""
    partitions: Mapping[PartitionId, ObservedPartition]
    """Partitions of the plan whose topic exists."""
    foreign: Mapping[PartitionId, ObservedPartition] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Other partitions that are reassigning."""
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Topic of the plan -> number of its partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightResult:
    """The plan may run."""

    dropped: tuple[PartitionId, ...]
    """Stale moves that are left out."""
    differences: tuple[str, ...]
    """Why they are stale, one text per move."""
    is_done: bool
    """Whether nothing is left to do."""


def check_cluster(plan: Plan, cluster_id: str | None) -> None:
    """Check that the plan is one of this cluster. Raises `StalePlan` or `WrongCluster`."""
    if plan.hypothetical or plan.cluster_id is None:
        had = "a hypothetical cluster" if plan.hypothetical else "a file without topic ids"
        raise StalePlan(
            f"invalid plan: expected a plan of a running cluster, got one made from {had}",
            wanted="a plan of a running cluster",
            had=had,
            hint="run rackwise snapshot --bootstrap-server HOST:PORT, then rackwise plan",
        )
    check_cluster_ids((plan.cluster_id,), cluster_id)


def check_cluster_ids(named: Iterable[str], cluster_id: str | None) -> None:
    """Check that a plan names no other cluster than this one. Raises `WrongCluster`."""
    for wanted in named:
        if wanted != cluster_id:
            raise WrongCluster(
                f"wrong cluster: expected {escaped(wanted)}, the plan's cluster, got "
                f"{escaped(cluster_id or 'unknown')}",
                wanted=wanted,
                had=cluster_id,
                hint="set --bootstrap-server to a broker of the plan's cluster",
            )


def check_plan(
    plan: Plan,
    facts: ClusterFacts,
    *,
    sent: Mapping[PartitionId, RequestStatus] = NOTHING_SENT,
    has_begun: bool = False,
    allow_partial: bool = False,
    alongside: bool = False,
    room: BudgetRoom | None = None,
    names: Mapping[str, str] = NO_MAP,
) -> PreflightResult:
    """Check whether the plan may run, or may continue where `sent` has moves of the journal.

    `has_begun`: an earlier run did a part of the plan. What others changed since is then a class of
    these moves, and the others go on. `room`: what the run may begin, which is taken from it; None:
    all. `names`: plain name of a rack -> path, `racks.map` of the plan's policy. Raises
    `WrongCluster`, `ForeignReassignment`, `StalePlan` or `NoRoom`.
    """
    check_cluster(plan, facts.cluster_id)
    if not alongside:
        _check_foreign(plan, facts, sent)
    has_begun = has_begun or any(each != "none" for each in sent.values())
    racks = _Racks.of(plan, facts, names)
    stale = {
        id_: what
        for move in plan.moves
        if (what := _difference(plan, move, facts, sent, racks, has_begun=has_begun))
        for id_ in [(move.topic, move.partition)]
    }
    if stale and not allow_partial:
        raise _stale_plan(plan, tuple(stale.values()))
    fresh = [move for move in plan.moves if (move.topic, move.partition) not in stale]
    _check_room(moves_to_copy(fresh, facts, room), facts)
    return PreflightResult(
        dropped=tuple(stale),
        differences=tuple(stale.values()),
        is_done=not stale and all(_class_of(move, facts, sent) == "done" for move in fresh),
    )


def _class_of(move: Move, facts: ClusterFacts, sent: Mapping[PartitionId, RequestStatus]) -> str:
    id_ = (move.topic, move.partition)
    return classify(move, facts.partitions.get(id_), sent.get(id_, "none"))


def _check_foreign(
    plan: Plan, facts: ClusterFacts, sent: Mapping[PartitionId, RequestStatus]
) -> None:
    running = dict(facts.foreign)
    for move in plan.moves:
        id_ = (move.topic, move.partition)
        seen = facts.partitions.get(id_)
        if seen is not None and seen.is_reassigning and sent.get(id_, "none") == "none":
            running[id_] = seen
    if not running:
        return
    names = sorted(f"{topic}-{number}" for topic, number in running)
    raise ForeignReassignment(
        f"expected no other reassignment, got {len(names)} that this plan did not start: "
        f"{names_text(names, most=SHOWN)}",
        wanted=0,
        had=", ".join(names),
        hint="wait until they end, or set --alongside: the limits then count them",
    )


def _difference(
    plan: Plan,
    move: Move,
    facts: ClusterFacts,
    sent: Mapping[PartitionId, RequestStatus],
    racks: _Racks,
    *,
    has_begun: bool,
) -> str | None:
    """What changed for one move since the plan was made; None where nothing did."""
    id_ = (move.topic, move.partition)
    name = f"{move.topic}-{move.partition}"
    class_ = _class_of(move, facts, sent)
    if class_ == "not_started":
        changes = list(_broker_changes(plan, move, facts, racks, is_new=not has_begun))
        if not has_begun:
            changes.extend(_topic_changes(plan, move.topic, facts))
        return f"{name}: {'; '.join(changes)}" if changes else None
    if class_ == "done" or has_begun:
        return None
    seen = facts.partitions.get(id_)
    if seen is None:
        return f"{name}: the topic or the partition does not exist any more"
    if class_ == "topic_gone":
        return f"{name}: expected topic id {move.topic_id}, got {seen.topic_id}"
    if seen.is_reassigning:
        return f"{name}: another reassignment moves it to {_ids_text(seen.target)}"
    return f"{name}: expected replicas {_ids_text(move.before)}, got {_ids_text(seen.replicas)}"


class _Racks(NamedTuple):
    """The racks that count, by broker."""

    planned: Mapping[int, Rack | None]
    now: Mapping[int, Rack | None]

    @classmethod
    def of(cls, plan: Plan, facts: ClusterFacts, names: Mapping[str, str]) -> _Racks:
        planned = ((id_, broker.rack) for id_, broker in plan.made_from.brokers.items())
        now = ((id_, broker.rack) for id_, broker in facts.brokers.items())
        return cls(settle_racks(planned, names).racks, settle_racks(now, names).racks)


def _broker_changes(
    plan: Plan, move: Move, facts: ClusterFacts, racks: _Racks, *, is_new: bool
) -> Iterator[str]:
    """Changes of the move's brokers. The run waits for a broker that dies after the start."""
    for id_ in dict.fromkeys((*move.after, *move.before)):
        planned = plan.made_from.brokers.get(id_)
        now = facts.brokers.get(id_)
        was_live = planned is not None and planned.is_fenced is not True
        if now is None or not now.is_live:
            if is_new and (was_live or id_ in move.added):
                yield f"broker {id_} is {'not listed' if now is None else 'fenced'}"
        elif planned is not None and racks.planned[id_] != racks.now[id_]:
            yield f"expected broker {id_} in rack {planned.rack}, got {now.rack}"
        if now is not None and now.is_cordoned and id_ in move.after:
            yield f"broker {id_} is cordoned: Kafka takes no new list that names it"


def _topic_changes(plan: Plan, topic: str, facts: ClusterFacts) -> Iterator[str]:
    """Partitions added to the topic. After the start they change no list of the plan."""
    planned, now = plan.made_from.partitions.get(topic), facts.counts.get(topic)
    if planned is not None and now is not None and planned != now:
        yield f"expected {counted(planned, 'partition')} in the topic, got {now}"


def _stale_plan(plan: Plan, differences: tuple[str, ...]) -> StalePlan:
    return StalePlan(
        f"the cluster has changed since the plan was made: {len(differences)} of "
        f"{counted(len(plan.moves), 'move')} {are(len(differences))} stale: "
        f"{names_text(differences, most=SHOWN)}",
        wanted="the cluster as it was",
        had="; ".join(differences),
        hint="plan again from a new snapshot, or set --allow-partial to leave these moves out",
    )


def moves_to_copy(
    moves: Iterable[Move], facts: ClusterFacts, room: BudgetRoom | None
) -> list[Move]:
    """The moves that a run has to copy: those in progress, and those that its budget lets it begin.

    `room`: what is left of the budget, which these moves take; None: no limit.
    """
    to_copy = []
    for move in moves:
        which = (move.topic, move.partition)
        seen = facts.partitions.get(which)
        if seen is None or seen.replicas == move.after:
            continue
        if room is not None and not seen.is_reassigning:
            if not room.fits(which, move):
                continue
            room.take(which, move)
        to_copy.append(move)
    return to_copy


def _check_room(moves: list[Move], facts: ClusterFacts) -> None:
    # broker -> bytes of the moves into it
    incoming: dict[int, int] = defaultdict(int)
    for move in moves:
        for broker in move.added:
            incoming[broker] += move.bytes or 0
    for broker, needed in sorted(incoming.items()):
        room = _free_bytes(facts.brokers.get(broker))
        if room is not None and room < needed:
            raise NoRoom(
                f"not enough free disk on broker {broker}: expected {needed} bytes, got {room} "
                f"beside the reserve of {RESERVE} %",
                wanted=needed,
                had=room,
                hint="free or add disk space; Kafka deletes replicas that moved away after a delay",
                where=f"broker {broker}",
            )


def _free_bytes(broker: Broker | None) -> int | None:
    """Bytes that a broker's disks can take; None where the sizes are unknown.

    A cordoned folder takes no new replica.
    """
    if broker is None:
        return None
    sizes = [
        (each.usable_bytes, each.total_bytes)
        for each in broker.log_dirs
        if each.error is None and not each.is_cordoned
    ]
    known = [(usable, total) for usable, total in sizes if usable is not None and total is not None]
    if not known or len(known) < len(sizes):
        return None
    usable = sum(each for each, _ in known)
    total = sum(each for _, each in known)
    return max(0, usable - total * RESERVE // 100)


def _ids_text(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, brokers))
