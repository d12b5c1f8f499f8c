"""Rows of one topic: how large it was asked for, what is added by hand or placed, what is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.cli.place.options import (
    Terms,
    Wishes,
    check_rows_known,
    explained,
    tell,
)
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidAssignment, InvalidConfig, InvalidPartitions
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from rackwise.core.model import Broker, Cluster
    from rackwise.core.placement import Placement

FORMAT = "rackwise.topic/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a topic was asked for: two numbers, or rows by hand as text."""

    partitions: int | None
    replication: int | None
    by_hand: str | None

    def check(self, wishes: Wishes) -> None:
        """Raises `InvalidConfig` unless it is the one or the other."""
        numbers = {"--partitions": self.partitions, "--replication-factor": self.replication}
        missing = [name for name, number in numbers.items() if number is None]
        if self.by_hand is None and missing:
            raise InvalidConfig(
                "expected --partitions and --replication-factor, got no "
                + " and no ".join(missing),
                wanted="--partitions, --replication-factor",
                had=", ".join(numbers.keys() - missing),
                hint="give both, or give every row: --replica-assignment 5:4,3:2",
            )
        if self.by_hand is not None:
            refuse_beside_rows([each for each in numbers if each not in missing] + wishes.given())

    def as_asked(self) -> str:
        """In words."""
        if self.by_hand is not None:
            return "the rows by hand"
        return f"{self.partitions} of {self.replication}"

    def is_that_of(self, rows: Placement) -> bool:
        """Whether a topic that exists has it: these numbers, or the very rows."""
        if self.by_hand is not None:
            from rackwise.core.placement import parse_assignment

            return parse_assignment(self.by_hand) == rows
        return len(rows) == self.partitions and set(rows.lengths.tolist()) == {self.replication}


def refuse_beside_rows(given: Sequence[str]) -> None:
    """Raises `InvalidConfig` for options that mean nothing where all rows are written by hand."""
    if given:
        raise InvalidConfig(
            f"--replica-assignment cannot be combined with {', '.join(given)}",
            wanted="--replica-assignment alone",
            had=", ".join(given),
            hint="omit one or the other: --replica-assignment says where every replica goes",
        )


def check_increase(name: str, existing: Placement, partitions: int) -> None:
    """Raises `InvalidPartitions` unless there are more partitions than the topic has."""
    if partitions <= len(existing):
        raise InvalidPartitions(
            f"invalid --partitions: expected more than the {len(existing)} of topic "
            f"{escaped(name)}, got {partitions}",
            wanted=len(existing) + 1,
            had=partitions,
            hint="the number of partitions can only increase",
        )


def added(agreed: Terms, name: str, existing: Placement, partitions: int) -> Placement:
    """The rows that are placed after the existing ones; raises what `add_partitions` raises."""
    from rackwise.core.placement import add_partitions

    return add_partitions(
        existing,
        agreed.brokers,
        partitions - len(existing),
        placer=agreed.placer,
        racks=agreed.racks,
        load=agreed.load,
        rng=agreed.rng,
        topic=escaped(name),
    )


def by_hand_rows(
    text: str, cluster: Cluster, name: str, existing: Placement, partitions: int
) -> Placement:
    """The rows that follow the existing ones. Raises `InvalidAssignment`, `UnknownBroker`."""
    from rackwise.core.placement import Placement, parse_assignment

    rows = parse_assignment(text)
    if len(rows) != partitions:
        more, given = partitions - len(existing), max(0, len(rows) - len(existing))
        raise InvalidAssignment(
            f"invalid --replica-assignment: expected a row for each of {partitions} partitions, "
            f"got {len(rows)}",
            wanted=partitions,
            had=len(rows),
            hint=f"include the {len(existing)} rows that topic {escaped(name)} has; they are "
            "skipped",
            upstream=(
                "org.apache.kafka.common.errors.InvalidReplicaAssignmentException",
                (
                    f"Attempted to add {more} additional partition(s), but only {given} "
                    "assignment(s) were specified."
                ),
            ),
        )
    new = Placement(rows=rows.rows[len(existing) :], first=len(existing))
    check_rows_known(new, cluster.brokers)
    return new


def tell_whole(
    shell: Shell, cluster: Cluster, existing: Placement, new: Placement, agreed: Terms | None
) -> None:
    """What the whole topic costs afterwards."""
    from rackwise.core.placement import Placement, RackMode

    whole = Placement.of({**existing.as_dict(), **new.as_dict()})
    if agreed is None:
        report = explained(whole, cluster.brokers, RackMode.ENFORCED)
        tell(shell, report, cluster.brokers, placer=None)
        return
    ids = {broker.id for broker in agreed.brokers} | set(whole.rows.ravel().tolist())
    brokers = [broker for broker in cluster.brokers if broker.id in ids]
    report = explained(whole, brokers, agreed.racks)
    tell(shell, report, brokers, placer=agreed.name, drawn=agreed.drawn)


def tell_racks(shell: Shell, brokers: Sequence[Broker]) -> None:
    """A warning where some brokers have no rack, so that none counted."""
    without = [broker.id for broker in brokers if broker.rack is None]
    if 0 < len(without) < len(brokers):
        shell.warn(
            f"racks were ignored: {len(without)} of {len(brokers)} brokers have none: "
            f"{', '.join(map(str, without))}; set broker.rack on them before the next topic"
        )


def show(
    shell: Shell,
    name: str,
    outcome: str,
    rows: Placement,
    agreed: Terms | None,
) -> None:
    """What became of the topic, on stdout; `rows` are those made now, or all there are.

    `agreed`: None where nothing was placed.
    """
    if shell.is_json:
        shell.document(
            {
                "format": FORMAT,
                "topic": name,
                "outcome": outcome,
                "first_partition": rows.first,
                "rows": list(rows.as_dict().values()),
                "seed": None,
                **({} if agreed is None else agreed.as_dict()),
            }
        )
        return
    sizes = sorted(set(rows.lengths.tolist()))
    each = (
        counted(sizes[0], "replica") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} replicas"
    )
    what = f"{counted(len(rows), 'partition')} of {each}"
    told = {
        "created": f"created, {what}",
        "exists": f"exists, {what}",
        "differs": f"exists with another shape, {what}",
        "widened": f"widened by {what}",
    }
    shell.text(f"topic {escaped(name)}: {told[outcome]}")
