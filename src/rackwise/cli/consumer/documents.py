"""The documents of `rackwise consumer evaluate` and `consumer simulate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from rackwise.cli.documents import NoteDocument, note_rows
from rackwise.core.assignors import BalanceScope, Explanation, LevelCrossing, Target
from rackwise.core.json.codec import Codec
from rackwise.core.json.declare import MAX_INTEGER, Between

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from rackwise.cli.consumer.groups import EvaluatedGroup, SkippedGroup
    from rackwise.cli.consumer.outlook import PricedOutcome
    from rackwise.core.assignors import (
        Assignment,
        AssignmentReport,
        BrokerReads,
        Reads,
        Review,
        SimulatedAssignor,
        TopicPartition,
    )
    from rackwise.core.json.declare import BrokerId, PartitionNumber
    from rackwise.core.model import Cluster

    Run: TypeAlias = tuple[EvaluatedGroup, AssignmentReport, int, Sequence[SimulatedAssignor]]
    """A group, its current report, the simulated number of members, a result per assignor."""

SignedNano: TypeAlias = Annotated[int, Between(-MAX_INTEGER, MAX_INTEGER, "nano-dollars")]
DIGITS = 6
"""Decimals of shares."""

CODEC: Final = Codec(
    names={each.__name__: each for each in (NoteDocument, Explanation, LevelCrossing)}
    | {"Target": Target, "BalanceScope": BalanceScope}
)
"""The codec of these documents, with parts that `core` declares."""


@dataclass(frozen=True, kw_only=True)
class AssignmentReportDocument:
    """An assignment in numbers of partitions."""

    partitions: int
    """All partitions of the topics that members list, including unassigned ones. In a share group a
    partition counts for each member that has it."""
    smallest: int
    """The load of the member with the fewest partitions."""
    largest: int
    """The load of the member with the most partitions."""
    local: int
    """Partitions that are read in the rack of the member."""
    cross: int
    """Partitions that are read from another rack."""
    unknown: int
    """Partitions for which a rack is unknown."""
    unassigned: int
    """Partitions that no member has."""
    local_share: float
    """Share of the local partitions, from 0 to 1; 1 if there are no partitions."""
    cross_by_level: tuple[LevelCrossing, ...]
    """What crosses each rack level, coarsest level first."""
    moves: int
    """Owned partitions that end with another member."""


@dataclass(frozen=True, kw_only=True)
class ConsumerGroupDocument:
    """A consumer group as the cluster shows it."""

    group: str
    """Name of the group."""
    protocol: str | None
    """Protocol of the group; null if it is not known."""
    assignor: str | None
    """Name of its assignor; null if it is not known."""
    state: str | None
    """State of the group; null if it is not known."""
    members: int
    """Number of members."""
    members_without_rack: tuple[str, ...]
    """Ids of the members whose rack is unknown."""
    members_without_topics: tuple[str, ...]
    """Ids of the members that did not show their subscription."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedGroupDocument:
    """A group that cannot be evaluated."""

    group: str
    """Name of the group."""
    reason: str
    """Why it cannot be evaluated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedPartitionsDocument:
    """What the figures of a group exclude; partitions are written as `topic-0`."""

    topics: tuple[str, ...]
    """Listed topics that are not in the cluster."""
    assigned: tuple[str, ...]
    """Assigned partitions that are not in the cluster."""
    unlisted: tuple[str, ...]
    """Assigned partitions of topics that no member lists."""
    unassigned: tuple[str, ...]
    """Partitions that no member has."""
    unweighted: tuple[str, ...]
    """Partitions without a weight; they count as 0 bytes per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackReadsDocument:
    """What the members of one rack read, in partitions."""

    rack: str | None
    """The rack; null for members without a rack."""
    members: int
    """Members in the rack."""
    local: int
    """Partitions that are read in the rack."""
    cross: int
    """Partitions that are read from another rack."""
    unknown: int
    """Partitions for which a rack is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberReadsDocument:
    """What one member reads, in partitions."""

    member_id: str
    """Id of the member."""
    rack: str | None
    """Rack of the member; null if it is unknown."""
    local: int
    """Partitions that are read in the rack."""
    cross: int
    """Partitions that are read from another rack."""
    unknown: int
    """Partitions for which a rack is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReadsDocument:
    """What is read from one broker."""

    id: BrokerId
    """Id of the broker."""
    partitions: int
    """Partitions that are read from the broker."""
    bytes_per_s: int | None
    """Bytes per second that are read from the broker; null without `--weights`."""
    cross: int
    """Partitions that members in another rack read."""


@dataclass(frozen=True, kw_only=True)
class ServerOutcomeDocument:
    """What one of Kafka's own assignors on the broker gives after all members have restarted."""

    assignor: str
    """Kafka's name of the assignor: uniform or range."""
    partitions: int
    """All partitions that the group reads."""
    local: float | None
    """Partitions that are read in the rack of the member; null if the rack of a member is unknown.
    """
    is_average: bool
    """Whether `local` is an average, because the ids of members decide."""
    lost_local_share: Annotated[float, Between(-(2.0**63), 1.0, "a share of at most 1")] | None
    """Share of the local reads of today that would cross racks, in bytes if weights are given;
    below 0 if more would be local; null if nothing is local today or a rack is unknown."""
    extra_usd_nano_per_month: SignedNano | None
    """Nano-dollars that reads would cost more than today in 30 days, below 0 if less; null if it is
    unknown."""
    cost_unknown: str | None
    """Why the cost is unknown and what to do about it; null if it is known."""


@dataclass(frozen=True, kw_only=True)
class EvaluatedGroupDocument(ConsumerGroupDocument, AssignmentReportDocument):
    """A group, its current assignment, and the best one; the last is null if it is unknown."""

    by_rack: tuple[RackReadsDocument, ...]
    """What is read, by the racks of the members; members without a rack come last."""
    by_member: tuple[MemberReadsDocument, ...]
    """What each member reads."""
    by_broker: tuple[BrokerReadsDocument, ...]
    """What is read from each broker; empty with `--target nearest` and for share groups."""
    best_local: int | None
    """Local partitions of the assignment in `best`, which crosses least, coarsest level first, in
    bytes if weights are given."""
    best: AssignmentReportDocument | None
    """The assignment that crosses least."""
    is_better: bool | None
    """Whether the best assignment is better than the current one."""
    explanation: Explanation | None
    """What limits locality; its `best_local` is the largest number of local partitions if nothing
    else counted."""
    server_assignors: tuple[ServerOutcomeDocument, ...]
    """What Kafka's own assignors on the broker give after all members have restarted (KIP-848)."""
    skipped: SkippedPartitionsDocument
    """What the figures exclude."""


@dataclass(frozen=True, kw_only=True)
class SimulatedAssignorDocument(AssignmentReportDocument):
    """The assignment of one assignor after its rebalances."""

    assignor: str
    """Name of the assignor."""
    rounds: int | None
    """Rebalances until nothing changed; null if `--rounds` were too few."""


@dataclass(frozen=True, kw_only=True)
class SimulatedGroupDocument(ConsumerGroupDocument):
    """A group, its current assignment, and one of each assignor."""

    members_simulated: int
    """Members in the simulation."""
    now: AssignmentReportDocument
    """The current assignment."""
    assignors: tuple[SimulatedAssignorDocument, ...]
    """The assignment of each assignor."""
    skipped: SkippedPartitionsDocument
    """What the figures exclude."""


@dataclass(frozen=True, kw_only=True)
class GroupsDocument:
    """What the documents of groups share."""

    cluster_id: str | None
    """Id of the cluster; null if it is not known."""
    taken_at: str
    """Time at which the cluster was read, UTC."""
    left_out: tuple[SkippedGroupDocument, ...]
    """Groups that cannot be evaluated, if no group is named."""
    notes: tuple[NoteDocument, ...]
    """What the reader of the cluster could not see."""
    target: Target
    """The replica that members read."""
    balance: BalanceScope
    """What the best assignment balances."""


@dataclass(frozen=True, kw_only=True)
class ConsumerEvaluationDocument(GroupsDocument):
    """How much each group reads in its own racks, and how much it could."""

    format: Literal["rackwise.consumer-evaluation/1"] = "rackwise.consumer-evaluation/1"
    groups: tuple[EvaluatedGroupDocument, ...]
    """The evaluated groups."""


@dataclass(frozen=True, kw_only=True)
class ConsumerSimulationDocument(GroupsDocument):
    """How much each group would read in its own racks with other assignors."""

    format: Literal["rackwise.consumer-simulation/1"] = "rackwise.consumer-simulation/1"
    groups: tuple[SimulatedGroupDocument, ...]
    """The simulated groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignorMembersDocument:
    """The assignment of one assignor."""

    assignor: str
    """Name of the assignor."""
    members: Mapping[str, Mapping[str, tuple[PartitionNumber, ...]]]
    """Member id -> topic -> numbers of the assigned partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAssignmentsDocument:
    """The simulated assignments of one group."""

    group: str
    """Name of the group."""
    assignors: tuple[AssignorMembersDocument, ...]
    """The assignment of each assignor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerAssignmentDocument:
    """The simulated assignments of groups, which `consumer simulate --out` writes to a file."""

    format: Literal["rackwise.consumer-assignment/1"] = "rackwise.consumer-assignment/1"
    cluster_id: str | None
    """Id of the cluster; null if it is not known."""
    taken_at: str
    """Time at which the cluster was read, UTC."""
    groups: tuple[GroupAssignmentsDocument, ...]
    """The simulated groups."""


def evaluation_document(
    cluster: Cluster,
    groups: Iterable[
        tuple[EvaluatedGroup, Review, Mapping[int, BrokerReads], Sequence[PricedOutcome]]
    ],
    skipped: Iterable[SkippedGroup],
    *,
    target: Target,
    balance: BalanceScope,
) -> ConsumerEvaluationDocument:
    """The evaluation of all groups, with the options that it used."""
    return ConsumerEvaluationDocument(
        **_source(cluster, skipped),
        target=target,
        balance=balance,
        groups=tuple(_evaluated_group(*each) for each in groups),
    )


def simulation_document(
    cluster: Cluster,
    groups: Iterable[Run],
    skipped: Iterable[SkippedGroup],
    *,
    target: Target,
    balance: BalanceScope,
) -> ConsumerSimulationDocument:
    """The simulation of all groups, with the options that it used."""
    return ConsumerSimulationDocument(
        **_source(cluster, skipped),
        target=target,
        balance=balance,
        groups=tuple(
            SimulatedGroupDocument(
                **_group(group),
                members_simulated=members,
                now=AssignmentReportDocument(**_report(now)),
                assignors=tuple(
                    SimulatedAssignorDocument(
                        assignor=row.assignor, rounds=row.rounds, **_report(row.report)
                    )
                    for row in rows
                ),
                skipped=_skipped(now),
            )
            for group, now, members, rows in groups
        ),
    )


def assignments_document(cluster: Cluster, groups: Iterable[Run]) -> ConsumerAssignmentDocument:
    """The simulated assignments by group, assignor and member."""
    return ConsumerAssignmentDocument(
        cluster_id=cluster.cluster_id,
        taken_at=cluster.taken_at,
        groups=tuple(
            GroupAssignmentsDocument(
                group=group.name,
                assignors=tuple(
                    AssignorMembersDocument(assignor=row.assignor, members=_members(row.assignment))
                    for row in rows
                ),
            )
            for group, _, _, rows in groups
        ),
    )


def _evaluated_group(
    group: EvaluatedGroup,
    found: Review,
    brokers: Mapping[int, BrokerReads],
    outlook: Sequence[PricedOutcome],
) -> EvaluatedGroupDocument:
    members = group.described.members
    # Without an explanation, or a number of local partitions, the best assignment is unknown.
    is_known = found.best_local is not None and found.explanation is not None
    return EvaluatedGroupDocument(
        **_group(group),
        **_report(found.now),
        by_rack=tuple(
            RackReadsDocument(rack=row.rack, members=row.members, **_reads(row.reads))
            for row in found.now.by_rack
        ),
        by_member=tuple(
            MemberReadsDocument(member_id=member, rack=members[member].rack, **_reads(reads))
            for member, reads in found.now.by_member.items()
        ),
        by_broker=tuple(
            BrokerReadsDocument(
                id=broker,
                partitions=reads.partitions,
                bytes_per_s=reads.bytes_per_s,
                cross=reads.cross,
            )
            for broker, reads in brokers.items()
        ),
        best_local=found.best_local if is_known else None,
        best=AssignmentReportDocument(**_report(found.best)) if is_known and found.best else None,
        is_better=found.is_better if is_known else None,
        explanation=found.explanation if is_known else None,
        server_assignors=tuple(
            ServerOutcomeDocument(
                assignor=each.outcome.assignor,
                partitions=each.outcome.partitions,
                local=_rounded(each.outcome.local),
                is_average=each.outcome.is_average,
                lost_local_share=_rounded(each.outcome.lost_share),
                extra_usd_nano_per_month=each.extra.nano,
                cost_unknown=each.extra.reason,
            )
            for each in outlook
        ),
        skipped=_skipped(found.now),
    )


def _source(cluster: Cluster, skipped: Iterable[SkippedGroup]) -> dict[str, Any]:
    """The fields of `GroupsDocument` without the options."""
    return {
        "cluster_id": cluster.cluster_id,
        "taken_at": cluster.taken_at,
        "left_out": tuple(
            SkippedGroupDocument(group=each.group, reason=each.reason) for each in skipped
        ),
        "notes": note_rows(cluster.notes),
    }


def _group(group: EvaluatedGroup) -> dict[str, Any]:
    """The fields of `ConsumerGroupDocument`."""
    description = group.described
    return {
        "group": description.group.group,
        "protocol": description.group.protocol,
        "assignor": description.group.assignor,
        "state": description.group.state,
        "members": len(description.members),
        "members_without_rack": description.rackless,
        "members_without_topics": description.without_topics,
    }


def _report(report: AssignmentReport) -> dict[str, Any]:
    """The fields of `AssignmentReportDocument`."""
    return {
        "partitions": report.partitions,
        "smallest": report.smallest,
        "largest": report.largest,
        "local": report.local,
        "cross": report.cross,
        "unknown": report.unknown,
        "unassigned": report.unassigned,
        "local_share": round(float(report.local_share), DIGITS),
        "cross_by_level": report.cross_by_level,
        "moves": report.moves,
    }


def _rounded(value: Fraction | None) -> float | None:
    return None if value is None else round(float(value), DIGITS)


def _reads(reads: Reads) -> dict[str, int]:
    return {"local": reads.local, "cross": reads.cross, "unknown": reads.unknown}


def _skipped(report: AssignmentReport) -> SkippedPartitionsDocument:
    skipped = report.skipped
    return SkippedPartitionsDocument(
        topics=skipped.topics,
        assigned=_names(skipped.assigned),
        unlisted=_names(skipped.unlisted),
        unassigned=_names(skipped.unassigned),
        unweighted=_names(skipped.unweighted),
    )


def _names(partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
    return tuple(map(str, partitions))


def _members(assignment: Assignment) -> dict[str, Mapping[str, tuple[int, ...]]]:
    return {member: assignment.by_topic(member) for member in assignment.partitions}
