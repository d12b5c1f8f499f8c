"""The groups that `rackwise consumer` judges: where they come from, and what they do not show."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rackwise.cli.consumer.checks import check_weighed, some, tell_racks
from rackwise.cli.source import cluster_of
from rackwise.core.errors import GroupNotFound, GroupNotStable, InvalidConfig, InvalidMember
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rackwise.cli.shell import Shell
    from rackwise.core.assignors import (
        AssignmentReport,
        Described,
        Members,
        ReplicaRacks,
        TopicPartition,
    )
    from rackwise.core.model import Cluster, Group

MAX_ADDED = 9999

_EXAMPLES = {
    "--rack": "consumer-1-4f2a=use1-az1",
    "--client-rack": "'billing-a-*=use1-az1'",
    "--add": "use1-az1=4",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A group, the racks of what it reads, and its weights; none where no table was given."""

    described: Described
    racks: ReplicaRacks
    weights: Mapping[TopicPartition, int] | None

    @property
    def name(self) -> str:
        """As Kafka has it."""
        return self.described.group.group


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A group that could not be judged, and why."""

    group: str
    reason: str


class Source(NamedTuple):
    """Where the groups are read, after `check_source`."""

    snapshot: Path | None
    bootstrap_server: str | None
    client_config: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Which groups are judged, and what is said of them beside."""

    groups: tuple[str, ...]
    racks: tuple[tuple[str, str], ...]
    client_racks: tuple[tuple[str, str], ...]
    weights: Path | None

    @classmethod
    def of(
        cls,
        groups: Sequence[str] | None,
        racks: Sequence[str] | None,
        client_racks: Sequence[str] | None,
        weights: Path | None,
    ) -> Wishes:
        """From the options as given. Raises `InvalidConfig`."""
        return cls(
            groups=tuple(groups or ()),
            racks=_one_each(_pairs(racks, option="--rack", form="MEMBER=RACK")),
            client_racks=_pairs(client_racks, option="--client-rack", form="GLOB=RACK"),
            weights=weights,
        )


def gathered(
    shell: Shell, source: Source, wishes: Wishes
) -> tuple[Cluster, tuple[Judged, ...], tuple[LeftOut, ...]]:
    """The cluster, the groups to judge, and those that cannot be.

    Raises `GroupNotFound`, `GroupNotStable`, `InvalidConfig` for unknown members, `InvalidWeights`
    for weights that are not of these groups, and what the readers of files and clusters raise.
    """
    cluster = _cluster(shell, source)
    weights = None
    if wishes.weights is not None:
        from rackwise.adapters import files

        weights = files.read_weights(
            wishes.weights, sizes=_sizes(cluster), max_bytes=shell.max_input
        )
    groups, left_out = _chosen(shell, cluster, wishes.groups)
    judged = _judged(cluster, groups, wishes, weights)
    check_weighed(shell, {each.name: each.weights for each in judged}, wishes.weights)
    tell_racks(shell, cluster, [each.described for each in judged], wishes.client_racks)
    return cluster, judged, left_out


def added(texts: Sequence[str] | None) -> dict[str, int]:
    """Rack -> members to add, from `RACK=N`. Raises `InvalidConfig`."""
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
    groups: Sequence[Judged], *, add: Mapping[str, int], remove: Sequence[str]
) -> None:
    """Refuse to change several groups at once: `InvalidConfig`; to leave none: `InvalidMember`."""
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
    """Refuse to write over the snapshot that is read: `InvalidConfig`."""
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


def _one_each(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Refuse two racks of one member: `InvalidConfig`."""
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
    """From `LEFT=RIGHT`, the last `=` counts. Raises `InvalidConfig`."""
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


def _cluster(shell: Shell, source: Source) -> Cluster:
    """What the source has, its notes told."""
    cluster = cluster_of(shell, *source, sizes=False, groups=True)
    for note in cluster.notes:
        shell.warn(escaped(f"{note.kind}: {note.text}"))
    return cluster


def _chosen(
    shell: Shell, cluster: Cluster, names: Sequence[str]
) -> tuple[tuple[Group, ...], tuple[LeftOut, ...]]:
    """The groups to judge and, where all were wanted, those that cannot be.

    Raises `GroupNotFound`, `GroupNotStable` for a group asked for by name, `GroupNotFound` where
    there is nothing to judge.
    """
    from rackwise.core.assignors import check_group, named_group

    if names:
        wanted = [named_group(cluster.groups, name) for name in dict.fromkeys(names)]
        for group in wanted:
            check_group(group)
        return tuple(wanted), ()
    kept, left_out, moving = [], [], 0
    for group in cluster.groups:
        try:
            check_group(group)
        except (GroupNotFound, GroupNotStable) as error:
            left_out.append(LeftOut(group=group.group, reason=error.message))
            moving += isinstance(error, GroupNotStable)
        else:
            kept.append(group)
    for each in left_out:
        shell.warn(f"left out: {each.reason}")
    if not kept:
        raise _nothing_to_judge(cluster, moving)
    return tuple(kept), tuple(left_out)


def _nothing_to_judge(cluster: Cluster, moving: int) -> GroupNotFound | GroupNotStable:
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
        else "take the snapshot with --groups",
    )


def _judged(
    cluster: Cluster,
    groups: Sequence[Group],
    wishes: Wishes,
    weights: Mapping[TopicPartition, int] | None,
) -> tuple[Judged, ...]:
    """Each group with what is needed to judge it. Raises `InvalidConfig` for unknown members."""
    from rackwise.core.assignors import described, replica_racks

    ids = {member.member_id for group in groups for member in group.members}
    for member, _ in wishes.racks:
        if member not in ids:
            raise InvalidConfig(
                f"invalid --rack: expected a member of these groups, got {escaped(member)}",
                wanted="a member id",
                had=member,
                hint="rackwise snapshot --groups lists members; --client-rack takes client ids",
            )
    found = []
    for group in groups:
        told = described(group, racks=dict(wishes.racks), client_racks=wishes.client_racks)
        near = replica_racks(cluster, _topics(told.members))
        found.append(Judged(described=told, racks=near, weights=_within(weights, near)))
    return tuple(found)


def _topics(members: Members) -> set[str]:
    return {topic for member in members.values() for topic in member.topics}


def _within(
    weights: Mapping[TopicPartition, int] | None, racks: ReplicaRacks
) -> Mapping[TopicPartition, int] | None:
    """The weights of what a group reads."""
    if weights is None:
        return None
    return {
        tp: weight
        for tp, weight in weights.items()
        if tp.topic in racks and tp.partition < len(racks[tp.topic])
    }


def _sizes(cluster: Cluster) -> Mapping[str, int]:
    """Topic -> number of its partitions."""
    table = cluster.partitions
    return Counter(table.topics[number] for number in table.topic.tolist())


def tell_unknown(shell: Shell, told: Described, report: AssignmentReport) -> None:
    """Warn of what a group does not show, and of what was left out of its figures."""
    name = escaped(told.group.group)
    for text in _unknown(told, report):
        shell.warn(f"{name}: {text}")


def _unknown(told: Described, report: AssignmentReport) -> Iterator[str]:
    skipped = report.skipped
    if told.group.state not in {None, "Stable"}:
        yield f"it is {escaped(told.group.state or '')}; what its members have right now is counted"
    if told.rackless:
        yield (
            f"no rack is known of {counted(len(told.rackless), 'member')}: "
            f"{some(told.rackless)}; give --rack MEMBER=RACK or --client-rack GLOB=RACK"
        )
    if told.listless:
        yield (
            f"{counted(len(told.listless), 'member')} did not show what they subscribe to: "
            f"{some(told.listless)}; all topics of the group were taken"
        )
    for names, what in (
        (skipped.topics, "topic that is not in the cluster"),
        (map(str, skipped.assigned), "assigned partition that is not in the cluster"),
        (map(str, skipped.unlisted), "assigned partition of a topic that no member lists"),
        (map(str, skipped.unassigned), "partition that nobody has"),
        (map(str, skipped.unweighted), "partition without weight, counted as 0 bytes/s"),
    ):
        listed = list(names)
        if listed:
            yield f"{len(listed)} x {what}: {some(listed)}"
