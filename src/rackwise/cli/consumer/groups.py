"""Input of `rackwise consumer`: selects groups and warns of what they do not show."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.cli.consumer.checks import check_weights, first_names, warn_of_racks
from rackwise.core.errors import GroupNotFound, GroupNotStable, InvalidConfig, InvalidMember
from rackwise.core.text import counted, escaped, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rackwise.cli.shell import Shell
    from rackwise.cli.source import ClusterSource
    from rackwise.core.assignors import (
        AssignmentReport,
        DescribedGroup,
        Members,
        ReplicaRacks,
        TopicPartition,
    )
    from rackwise.core.model import Cluster, Group

MAX_ADDED = 9999
UNLISTED = "of a topic that no member lists"
UNWEIGHTED = "no weight, counted as 0 bytes/s"

_EXAMPLES = {
    "--rack": "consumer-1-4f2a=use1-az1",
    "--client-rack": "'billing-a-*=use1-az1'",
    "--add": "use1-az1=4",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedGroup:
    """A group with everything that its evaluation needs."""

    described: DescribedGroup
    racks: ReplicaRacks
    """Racks of the replicas that it reads."""
    weights: Mapping[TopicPartition, int] | None
    """None without --weights."""
    topic_ids: Mapping[str, str]
    """Topic -> id, for topics whose id is known."""

    @property
    def name(self) -> str:
        """The group id."""
        return self.described.group.group


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedGroup:
    """A group that cannot be evaluated, with the reason."""

    group: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOptions:
    """Options that select groups and complete what they do not show."""

    groups: tuple[str, ...]
    """Names of groups; empty means all."""
    racks: tuple[tuple[str, str], ...]
    """Member id -> rack."""
    client_racks: tuple[tuple[str, str], ...]
    """Glob of client ids -> rack."""
    weights: Path | None

    @classmethod
    def of(
        cls,
        groups: Sequence[str] | None,
        racks: Sequence[str] | None,
        client_racks: Sequence[str] | None,
        weights: Path | None,
    ) -> GroupOptions:
        """Parse the options. Raises `InvalidConfig`."""
        return cls(
            groups=tuple(groups or ()),
            racks=_unique(_pairs(racks, option="--rack", form="MEMBER=RACK")),
            client_racks=_pairs(client_racks, option="--client-rack", form="GLOB=RACK"),
            weights=weights,
        )


def gather_groups(
    shell: Shell, source: ClusterSource, options: GroupOptions
) -> tuple[Cluster, tuple[EvaluatedGroup, ...], tuple[SkippedGroup, ...]]:
    """Read the cluster; return it, the groups to evaluate, and the skipped ones.

    Raises `GroupNotFound`, `GroupNotStable`, `InvalidConfig` for unknown members, `InvalidWeights`
    for weights of other groups, and the errors of the readers of files and clusters.
    """
    cluster = source.read(shell, sizes=False, groups=True)
    for note in cluster.notes:
        shell.warn(escaped(f"{note.kind}: {note.text}"))
    weights = None
    if options.weights is not None:
        from rackwise.adapters import files

        weights = files.read_weights(
            options.weights, sizes=_sizes(cluster), max_bytes=shell.max_input
        )
    groups, skipped = _select(shell, cluster, options.groups)
    evaluated = _complete(cluster, groups, options, weights)
    check_weights(shell, {each.name: each.weights for each in evaluated}, options.weights)
    warn_of_racks(shell, cluster, [each.described for each in evaluated], options.client_racks)
    return cluster, evaluated, skipped


def keep_assignable(
    shell: Shell,
    groups: tuple[EvaluatedGroup, ...],
    skipped: tuple[SkippedGroup, ...],
    *,
    is_named: bool,
) -> tuple[tuple[EvaluatedGroup, ...], tuple[SkippedGroup, ...]]:
    """Keep the groups that an assignor of consumers can assign; skip share and streams groups.

    Raises `InvalidConfig` for a named group, and if no group is left.
    """
    from rackwise.core.assignors import WITHOUT_CHOICE

    kept = tuple(each for each in groups if each.described.group.protocol not in WITHOUT_CHOICE)
    others = [
        SkippedGroup(
            group=each.name,
            reason=f"invalid group {escaped(each.name)}: expected a consumer group, got a "
            f"{each.described.group.protocol} group",
        )
        for each in groups
        if each.described.group.protocol in WITHOUT_CHOICE
    ]
    if others and (is_named or not kept):
        raise InvalidConfig(
            others[0].reason,
            wanted="a consumer group",
            had=others[0].group,
            hint="the broker alone assigns it; rackwise consumer evaluate measures what it reads",
        )
    for each in others:
        shell.warn(f"skipped: {each.reason}")
    return kept, (*skipped, *others)


def parse_added_members(texts: Sequence[str] | None) -> dict[str, int]:
    """Parse `RACK=N` to rack -> members to add. Raises `InvalidConfig`."""
    found: dict[str, int] = {}
    for rack, count in _pairs(texts, option="--add", form="RACK=N"):
        is_number = count.isascii() and count.isdigit() and len(count) <= len(str(MAX_ADDED))
        if not is_number:
            raise InvalidConfig(
                f"invalid --add: expected RACK=N, N from 0 to {MAX_ADDED}, got {escaped(count)}",
                wanted=f"0 to {MAX_ADDED} members",
                had=count,
                hint=f"for example --add {_EXAMPLES['--add']}",
            )
        found[rack] = found.get(rack, 0) + int(count)
    return found


def check_one_group(
    groups: Sequence[EvaluatedGroup], *, add: Mapping[str, int], remove: Sequence[str]
) -> None:
    """Raise `InvalidConfig` for changes to several groups, `InvalidMember` if no member remains."""
    if (add or remove) and len(groups) != 1:
        raise InvalidConfig(
            f"expected 1 group with --add and --remove, got {len(groups)}",
            wanted=1,
            had=len(groups),
            hint="name it with --group G",
        )
    if remove and not any(add.values()) and not groups[0].described.members.keys() - set(remove):
        raise InvalidMember(
            "invalid --remove: expected at least 1 member to remain, got every member",
            wanted="at least 1 member",
            had=0,
            hint="keep one of them in the group, or add one with --add RACK=N",
        )


def check_out(out: Path | None, snapshot: Path | None) -> None:
    """Reject an output file that is the snapshot. Raises `InvalidConfig`."""
    if out is None or snapshot is None or not (out.exists() and snapshot.exists()):
        return
    if out.samefile(snapshot):
        raise InvalidConfig(
            f"invalid --out: expected another file than the snapshot, got {escaped(str(out))}",
            wanted="another file",
            had=str(out),
            hint="give the path of a new file",
            where=str(out),
        )


def _unique(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Reject two racks for one member. Raises `InvalidConfig`."""
    known: dict[str, str] = {}
    for member, rack in pairs:
        if known.setdefault(member, rack) != rack:
            raise InvalidConfig(
                f"invalid --rack: expected one rack for member {escaped(member)}, got "
                f"{escaped(known[member])} and {escaped(rack)}",
                wanted=1,
                had=2,
                hint="omit one of the two",
            )
    return pairs


def _pairs(texts: Sequence[str] | None, *, option: str, form: str) -> tuple[tuple[str, str], ...]:
    """Split `LEFT=RIGHT` at the last `=`. Raises `InvalidConfig`."""
    found = []
    for text in texts or ():
        left, _, right = text.rpartition("=")
        if not left or not right:
            raise InvalidConfig(
                f"invalid {option}: expected {form}, got {escaped(text)}",
                wanted=form,
                had=text,
                hint=f"for example {option} {_EXAMPLES[option]}",
            )
        found.append((left, right))
    return tuple(found)


def _select(
    shell: Shell, cluster: Cluster, names: Sequence[str]
) -> tuple[tuple[Group, ...], tuple[SkippedGroup, ...]]:
    """Return the groups to evaluate and, if no group is named, the skipped ones.

    Raises `GroupNotFound` or `GroupNotStable` for a named group, and if no group is left.
    """
    from rackwise.core.assignors import check_group, find_group

    if names:
        named = [find_group(cluster.groups, name) for name in dict.fromkeys(names)]
        for group in named:
            check_group(group)
        return tuple(named), ()
    kept, skipped, moving = [], [], 0
    for group in cluster.groups:
        try:
            check_group(group)
        except (GroupNotFound, GroupNotStable) as error:
            skipped.append(SkippedGroup(group=group.group, reason=error.message))
            moving += isinstance(error, GroupNotStable)
        else:
            kept.append(group)
    for each in skipped:
        shell.warn(f"skipped: {each.reason}")
    if not kept:
        raise _no_group_error(cluster, moving)
    return tuple(kept), tuple(skipped)


def _no_group_error(cluster: Cluster, moving: int) -> GroupNotFound | GroupNotStable:
    every = len(cluster.groups)
    if moving:
        return GroupNotStable(
            f"expected at least 1 consumer group in state Stable, got none: {moving} of {every} "
            + ("is rebalancing" if moving == 1 else "are rebalancing"),
            wanted="at least 1 group in state Stable",
            had=0,
            hint="try again, or give a snapshot",
        )
    return GroupNotFound(
        f"expected at least 1 consumer group with members, got 0 of {every}",
        wanted="at least 1 group with members",
        had=0,
        hint="try again when consumers run, or give a snapshot of a time when they did"
        if every
        else "take the snapshot without --no-groups",
    )


def _complete(
    cluster: Cluster,
    groups: Sequence[Group],
    options: GroupOptions,
    weights: Mapping[TopicPartition, int] | None,
) -> tuple[EvaluatedGroup, ...]:
    """Add racks and weights to each group. Raises `InvalidConfig` for unknown members."""
    from rackwise.core.assignors import describe_group, replica_racks

    ids = {member.member_id for group in groups for member in group.members}
    for member, _ in options.racks:
        if member not in ids:
            raise InvalidConfig(
                f"invalid --rack: expected a member of these groups, got {escaped(member)}",
                wanted="a member id",
                had=member,
                hint="rackwise snapshot lists members; --client-rack takes client ids",
            )
    topic_ids = {name: topic.id for name, topic in cluster.topics.items() if topic.id is not None}
    found = []
    for group in groups:
        group_description = describe_group(
            group, racks=dict(options.racks), client_racks=options.client_racks
        )
        near = replica_racks(cluster, _topics(group_description.members))
        found.append(
            EvaluatedGroup(
                described=group_description,
                racks=near,
                weights=_within(weights, near),
                topic_ids=topic_ids,
            )
        )
    return tuple(found)


def _topics(members: Members) -> set[str]:
    return {topic for member in members.values() for topic in member.topics}


def _within(
    weights: Mapping[TopicPartition, int] | None, racks: ReplicaRacks
) -> Mapping[TopicPartition, int] | None:
    """Keep the weights of partitions that a group reads."""
    if weights is None:
        return None
    return {
        tp: weight
        for tp, weight in weights.items()
        if tp.topic in racks and tp.partition < len(racks[tp.topic])
    }


def _sizes(cluster: Cluster) -> Mapping[str, int]:
    """Return topic -> number of partitions."""
    table = cluster.partitions
    return Counter(table.topics[number] for number in table.topic.tolist())


def warn_of_unknowns(shell: Shell, description: DescribedGroup, report: AssignmentReport) -> None:
    """Warn of what a group does not show and of what its figures exclude."""
    name = escaped(description.group.group)
    for text in _unknowns(description, report):
        shell.warn(f"{name}: {text}")


def _unknowns(description: DescribedGroup, report: AssignmentReport) -> Iterator[str]:
    skipped = report.skipped
    if description.group.state not in {None, "Stable"}:
        state = escaped(description.group.state or "")
        yield f"it is {state}; the figures use its current assignment"
    if description.rackless:
        yield (
            f"the rack is unknown of {counted(len(description.rackless), 'member')}: "
            f"{first_names(description.rackless)}; "
            "give --rack MEMBER=RACK or --client-rack GLOB=RACK"
        )
    if description.without_topics:
        count = counted(len(description.without_topics), "member")
        yield (
            f"{count} did not show their subscription: "
            f"{first_names(description.without_topics)}; all topics of the group are assumed"
        )
    for names, noun, one, many in (
        (skipped.topics, "topic", "is not in the cluster", "are not in the cluster"),
        (skipped.assigned, "assigned partition", "is not in the cluster", "are not in the cluster"),
        (skipped.unlisted, "assigned partition", f"is {UNLISTED}", f"are {UNLISTED}"),
        (skipped.unassigned, "partition", "has no member", "have no member"),
        (skipped.unweighted, "partition", f"has {UNWEIGHTED}", f"have {UNWEIGHTED}"),
    ):
        if names:
            what = f"{counted(len(names), noun)} {plural(len(names), one, many)}"
            yield f"{what}: {first_names(map(str, names))}"
