"""Rows of one topic: its requested size, added rows, and the output of the commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.cli.place.options import (
    PlacementOptions,
    PlacementSettings,
    check_rows_known,
    explain_rows,
    print_notes,
)
from rackwise.cli.shell import Shell
from rackwise.cli.usage.combined import reject_combined
from rackwise.core.errors import (
    InvalidAssignment,
    InvalidConfig,
    InvalidPartitions,
    ServerRefused,
)
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from rackwise.core.model import Broker, Cluster
    from rackwise.core.placement import Placement

NO_CAUSE = "Unknown"
"""The name of Kafka's error code -1, which brokers send without a text."""
Outcome: TypeAlias = Literal["created", "exists", "differs", "expanded"]
"""What a command found or did. `differs`: the topic exists with another size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSize:
    """The requested size of a topic: two numbers, or all rows as text."""

    partitions: int | None
    replication: int | None
    rows_text: str | None
    """The text of --replica-assignment."""

    def check(self, options: PlacementOptions) -> None:
        """Raise `InvalidConfig` unless exactly one form is given."""
        numbers = {"--partitions": self.partitions, "--replication-factor": self.replication}
        missing = [name for name, number in numbers.items() if number is None]
        if self.rows_text is None and missing:
            raise InvalidConfig(
                "expected --partitions and --replication-factor, got no "
                + " and no ".join(missing),
                wanted="--partitions, --replication-factor",
                had=", ".join(numbers.keys() - missing),
                hint="give both, or give every row: --replica-assignment 5:4,3:2",
            )
        if self.rows_text is not None:
            reject_other_options(
                [each for each in numbers if each not in missing] + options.names()
            )

    def as_text(self) -> str:
        """Format the requested size."""
        if self.rows_text is not None:
            return "the rows of --replica-assignment"
        return f"{self.partitions} partitions of {self.replication} replicas"

    def matches(self, rows: Placement) -> bool:
        """Whether an existing topic has this size, or exactly these rows."""
        if self.rows_text is not None:
            from rackwise.core.placement import parse_assignment

            return parse_assignment(self.rows_text) == rows
        return len(rows) == self.partitions and set(rows.lengths.tolist()) == {self.replication}


def reject_other_options(names: Sequence[str]) -> None:
    """Raise `InvalidConfig` for options that have no effect with --replica-assignment."""
    reject_combined(
        "--replica-assignment",
        names,
        hint="omit one or the other: --replica-assignment says where every replica goes",
    )


def reject_with_replication(options: PlacementOptions, rows_text: str | None) -> None:
    """Raise `InvalidConfig` for options that have no effect with --replication-factor."""
    given = {
        "--replica-assignment": rows_text,
        "--broker-list": options.broker_list,
        "--no-load": options.no_load,
    }
    reject_combined(
        "--replication-factor",
        [name for name, value in given.items() if value],
        hint="rackwise apply takes rows by hand, as Kafka's reassignment JSON",
    )


def explain_refusal(error: ServerRefused, name: str, brokers: Sequence[Broker]) -> ServerRefused:
    """Return the error of new partitions, with the cause that Kafka 3.9 writes only to its log."""
    from rackwise.core.placement import brokers_without_rack

    without = brokers_without_rack(brokers, has_levels=False)
    if not (without and error.message.endswith(f": {NO_CAUSE}")):
        return error
    return ServerRefused(
        f"Kafka rejects new partitions of topic {escaped(name)}: in ZooKeeper mode it does so "
        f"while only some brokers have a rack, even for given replica lists; {len(without)} of "
        f"{len(brokers)} have none: {', '.join(without)}",
        wanted="broker.rack on all brokers or on none",
        had=error.had,
        hint="set broker.rack on them, restart them and try again; or run rackwise topic create "
        "--disable-rack-aware for a new topic with more partitions, which Kafka accepts",
    )


def check_increase(name: str, existing: Placement, partitions: int) -> None:
    """Raise `InvalidPartitions` unless the number of partitions increases."""
    if partitions <= len(existing):
        raise InvalidPartitions(
            f"invalid --partitions: expected more than the {len(existing)} of topic "
            f"{escaped(name)}, got {partitions}",
            wanted=len(existing) + 1,
            had=partitions,
            hint="the number of partitions can only increase",
        )


def place_added_rows(
    settings: PlacementSettings, name: str, existing: Placement, partitions: int
) -> Placement:
    """Place rows after the existing ones. Raises the errors of `add_partitions`."""
    from rackwise.core.placement import add_partitions

    return add_partitions(
        existing,
        settings.brokers,
        partitions - len(existing),
        placer=settings.placer,
        racks=settings.racks,
        load=settings.load,
        rng=settings.rng,
        topic=escaped(name),
    )


def parse_added_rows(
    text: str, cluster: Cluster, name: str, existing: Placement, partitions: int
) -> Placement:
    """Parse the rows after the existing ones. Raises `InvalidAssignment`, `UnknownBroker`."""
    from rackwise.core.placement import Placement, parse_assignment

    rows = parse_assignment(text)
    if len(rows) != partitions:
        more, given = partitions - len(existing), max(0, len(rows) - len(existing))
        raise InvalidAssignment(
            f"invalid --replica-assignment: expected a row for each of {partitions} partitions, "
            f"got {len(rows)}",
            wanted=partitions,
            had=len(rows),
            hint=f"include the {counted(len(existing), 'row')} that topic {escaped(name)} has; "
            f"{'it is' if len(existing) == 1 else 'they are'} skipped",
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


def print_topic_notes(
    shell: Shell,
    cluster: Cluster,
    existing: Placement,
    new: Placement,
    settings: PlacementSettings | None,
) -> None:
    """Print notes about the rows of the whole topic."""
    from rackwise.core.placement import Placement

    whole = Placement.of({**existing.as_dict(), **new.as_dict()})
    if settings is None:
        report = explain_rows(whole, cluster.brokers)
        print_notes(shell, report, cluster.brokers, placer=None)
        return
    ids = {broker.id for broker in settings.brokers} | set(whole.rows.ravel().tolist())
    brokers = [broker for broker in cluster.brokers if broker.id in ids]
    report = explain_rows(whole, brokers, settings)
    print_notes(
        shell, report, brokers, placer=settings.name, generated_seed=settings.generated_seed
    )


def warn_of_missing_racks(shell: Shell, settings: PlacementSettings) -> None:
    """Warn if racks were ignored because some brokers have none that the placer can use."""
    from rackwise.core.placement import brokers_without_rack, has_levels
    from rackwise.core.placement.rack_modes import ODD_CURE

    without = brokers_without_rack(settings.brokers, has_levels=has_levels(settings.placer))
    if without:
        is_missing = all(map(str.isdigit, without))
        cure = "set broker.rack on them" if is_missing else ODD_CURE
        shell.warn(
            f"racks were ignored: {len(without)} of {len(settings.brokers)} brokers have none"
            f"{'' if is_missing else ' that counts'}: {', '.join(without)}; before the next topic, "
            f"{cure}"
        )


def show(
    shell: Shell,
    name: str,
    outcome: Outcome,
    rows: Placement,
    settings: PlacementSettings | None,
) -> None:
    """Print the outcome on stdout. `rows`: those that were written, or all existing ones.

    `settings`: None if nothing was placed.
    """
    if shell.is_json:
        from rackwise.cli.place.documents import TopicDocument

        shell.document(
            TopicDocument(
                topic=name,
                outcome=outcome,
                first_partition=rows.first,
                rows=tuple(map(tuple, rows.as_dict().values())),
                seed=None if settings is None else settings.seed,
                placer=None if settings is None else settings.name,
                placer_options=None if settings is None else settings.options,
                rack_mode=None if settings is None else str(settings.racks),
            )
        )
        return
    sizes = sorted(set(rows.lengths.tolist()))
    each = (
        counted(sizes[0], "replica") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} replicas"
    )
    what = f"{counted(len(rows), 'partition')} of {each}"
    texts = {
        "created": f"created, {what}",
        "exists": f"exists, {what}",
        "differs": f"exists with another size, {what}",
        "expanded": f"expanded by {what}",
    }
    shell.text(f"topic {escaped(name)}: {texts[outcome]}")
