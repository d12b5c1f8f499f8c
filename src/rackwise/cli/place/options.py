"""Options of placement, their meaning on a cluster, and notes about the resulting rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.placer_options import (
    PlacerOptions,
    Seed,
    create_placer,
    parse_placer_options,
    print_generated_seed,
    seeded_random,
)
from rackwise.cli.shell import Shell
from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import (
    InputError,
    InvalidAssignment,
    InvalidConfig,
    InvalidPartitions,
    InvalidReplication,
    UnknownBroker,
)
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from rackwise.core.model import Broker, Cluster
    from rackwise.core.placement import Draws, Load, Placement, Placer, RackMode, Report

DEFAULT_PLACER = "levels"
NUMBER = re.compile(r"-?[0-9]{1,10}")
INTEGER = re.compile(r"-?[0-9]+")
MAX_DIGITS = 10
TOPICS_NOTED = 10
"""How many topics are named with notes or errors before the rest is counted."""


def parse_partitions(text: str) -> int:
    """Parse `--partitions`. `place` checks later whether a topic can have that many.

    Raises `InvalidPartitions` for anything but an integer; 1.0 is no integer.
    """
    return _parse_integer(text, "partitions", InvalidPartitions)


def parse_replication(text: str) -> int:
    """Parse `--replication-factor`. Raises `InvalidReplication`."""
    return _parse_integer(text, "replication", InvalidReplication)


def _parse_integer(text: str, noun: str, error: type[InputError]) -> int:
    if NUMBER.fullmatch(text):
        return int(text)
    raise error(
        f"invalid {noun}: expected an integer of 1 or more, got {escaped(text)}", wanted=1, had=text
    )


PlacerName = Annotated[
    str | None,
    typer.Option("--placer", metavar="NAME", help="Use this placer. [default: levels]"),
]
RackModeName = Annotated[
    Literal["enforced", "safe", "one-rack"] | None,
    typer.Option(
        "--rack-mode", help="Choose how to handle brokers without a rack. [default: enforced]"
    ),
]
IgnoreRacks = Annotated[
    bool,
    typer.Option("--disable-rack-aware", "--ignore-racks", help="Ignore the racks of the brokers."),
]
BrokerList = Annotated[
    str | None,
    typer.Option(
        "--broker-list", metavar="IDS", help="Use only these brokers, separated by commas."
    ),
]
RackMap = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="Map rack names into paths with racks.map of this policy. Nothing else of it counts.",
    ),
]
NoLoad = Annotated[
    bool, typer.Option("--no-load", help="Ignore the replicas of other topics on the brokers.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementOptions:
    """The placement options of the command line; None or False if not given."""

    placer: PlacerName = None
    placer_option: PlacerOptions = None
    rack_mode: RackModeName = None
    disable_rack_aware: IgnoreRacks = False
    policy: RackMap = None
    broker_list: BrokerList = None
    seed: Seed = None
    no_load: NoLoad = False

    def names(self) -> list[str]:
        """Return the names of the given options."""
        values = {
            "--placer": self.placer,
            "--placer-option": self.placer_option,
            "--rack-mode": self.rack_mode,
            "--disable-rack-aware": self.disable_rack_aware,
            "--policy": self.policy,
            "--broker-list": self.broker_list,
            "--seed": None if self.seed is None else "given",
            "--no-load": self.no_load,
        }
        return [name for name, value in values.items() if value]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementSettings:
    """The placement options applied to a cluster."""

    name: str
    options: Mapping[str, str]
    placer: Placer
    brokers: tuple[Broker, ...]
    racks: RackMode
    load: Load | None
    seed: int
    is_seed_generated: bool
    rng: Draws

    @property
    def generated_seed(self) -> int | None:
        """The seed if it was generated."""
        return self.seed if self.is_seed_generated else None


def read_rack_map(shell: Shell, given: PlacementOptions) -> Mapping[str, str]:
    """Read the map of rack names into paths; empty without a policy. Raises `InvalidPolicy`."""
    if given.policy is None:
        return {}
    from rackwise.adapters import files

    return files.read_policy(given.policy, max_bytes=shell.max_input).policy.racks.map


def resolve(
    given: PlacementOptions, cluster: Cluster, *, without: Collection[str] = ()
) -> PlacementSettings:
    """Apply the options to a cluster. `without`: topics whose rows do not count as load.

    Raises `InvalidConfig`, `InvalidPlacer`, `InvalidAssignment`, `UnknownBroker`.
    """
    from rackwise.core.placement import RackMode
    from rackwise.core.placement.topics import current_load

    if given.disable_rack_aware and given.rack_mode is not None:
        raise InvalidConfig(
            f"expected one rack mode, got --disable-rack-aware and --rack-mode {given.rack_mode}",
            wanted=1,
            had=2,
            hint="omit one of them",
        )
    mode = (
        RackMode.DISABLED if given.disable_rack_aware else RackMode(given.rack_mode or "enforced")
    )
    name = given.placer or DEFAULT_PLACER
    options = parse_placer_options(given.placer_option)
    placer = create_placer(name, options)
    brokers = select_brokers(cluster.brokers, given.broker_list)
    seed, rng = seeded_random(given.seed)
    return PlacementSettings(
        name=name,
        options=options,
        placer=placer,
        brokers=brokers,
        racks=mode,
        load=None if given.no_load else current_load(cluster.partitions, without=without),
        seed=seed,
        is_seed_generated=given.seed is None,
        rng=rng,
    )


def select_brokers(brokers: Sequence[Broker], broker_list: str | None) -> tuple[Broker, ...]:
    """Select the brokers of a list such as `1,2,3`; all without a list.

    Raises `InvalidConfig`, `InvalidAssignment` for a repeated, invalid or cordoned id,
    `UnknownBroker`.
    """
    if broker_list is None:
        return tuple(brokers)
    ids = parse_broker_ids(broker_list)
    check_known(ids, brokers, what="--broker-list")
    check_uncordoned(ids, brokers, what="--broker-list")
    return tuple(broker for broker in brokers if broker.id in ids)


def parse_broker_ids(broker_list: str) -> list[int]:
    """Parse a list such as `1,2,3`.

    Raises `InvalidConfig`, `InvalidAssignment` for a repeated or invalid id.
    """
    ids = [_parse_id(text.strip()) for text in broker_list.split(",")]
    for place, id_ in enumerate(ids):
        if id_ in ids[:place]:
            raise InvalidAssignment(
                f"invalid --broker-list: expected each broker once, got {id_} twice",
                wanted=1,
                had=2,
                hint="name each broker once",
            )
    return ids


def _parse_id(text: str) -> int:
    if INTEGER.fullmatch(text):
        if text.isdigit() and len(text) <= MAX_DIGITS and int(text) <= GREATEST_ID:
            return int(text)
        raise InvalidAssignment(
            f"invalid --broker-list: expected broker ids from 0 to {GREATEST_ID}, got {text}",
            wanted=f"0 to {GREATEST_ID}",
            had=text,
            hint="for example --broker-list 1,2,3",
        )
    raise InvalidConfig(
        f'invalid --broker-list: expected broker ids, got "{escaped(text)}"',
        wanted="broker ids",
        had=text,
        hint="for example --broker-list 1,2,3",
    )


def check_known(ids: Iterable[int], brokers: Sequence[Broker], *, what: str) -> None:
    """Raise `UnknownBroker` for the first unknown id. `what`: the option or row that has it."""
    known = [broker.id for broker in brokers]
    for id_ in ids:
        if id_ not in known:
            raise UnknownBroker(
                f"invalid {what}: expected a broker of the cluster, got {id_}",
                wanted="a broker of the cluster",
                had=id_,
                hint=f"brokers: {', '.join(map(str, known)) or 'none'}",
            )


def check_uncordoned(ids: Iterable[int], brokers: Sequence[Broker], *, what: str) -> None:
    """Raise `InvalidAssignment` for the first cordoned broker: it takes no new replicas."""
    cordoned = [broker.id for broker in brokers if broker.is_cordoned]
    for id_ in ids:
        if id_ in cordoned:
            raise InvalidAssignment(
                f"invalid {what}: expected brokers that take new replicas, got {id_}, which is "
                "cordoned",
                wanted="a broker with a log folder that is not cordoned",
                had=id_,
                hint=f"cordoned brokers: {', '.join(map(str, cordoned))}; uncordon one by removing "
                "its log folders from cordoned.log.dirs",
            )


def place_topic(
    shell: Shell, settings: PlacementSettings, partitions: int, replication: int
) -> tuple[Placement, Report]:
    """Place a new topic and print notes about its rows. Raises the errors of `place`."""
    from rackwise.core.placement import place

    rows = place(
        settings.brokers,
        partitions,
        replication,
        placer=settings.placer,
        racks=settings.racks,
        load=settings.load,
        rng=settings.rng,
    )
    report = explain_rows(rows, settings.brokers, settings)
    print_notes(
        shell,
        report,
        settings.brokers,
        placer=settings.name,
        generated_seed=settings.generated_seed,
    )
    return rows, report


def explain_rows(
    placement: Placement, brokers: Sequence[Broker], settings: PlacementSettings | None = None
) -> Report:
    """Report the load of the rows on brokers that take replicas or that hold some of them.

    `settings`: None for rows of --replica-assignment.
    """
    import numpy as np

    from rackwise.core.placement import RackMode, apply_mode, explain, has_levels

    held = set(np.unique(placement.rows).tolist())
    seen = [
        each
        for each in brokers
        if each.id in held or (each.is_live and not each.is_fenced and not each.is_cordoned)
    ]
    if settings is None or settings.racks is RackMode.ENFORCED:
        return explain(placement, apply_mode(seen, RackMode.ONE_RACK))
    is_levelled = has_levels(settings.placer)
    return explain(placement, apply_mode(seen, settings.racks, has_levels=is_levelled))


def print_notes(
    shell: Shell,
    report: Report,
    brokers: Sequence[Broker],
    *,
    placer: str | None,
    generated_seed: int | None = None,
) -> None:
    """Print a generated seed, forced shares, and a warning for a broker far above its share.

    `placer`: None for rows of --replica-assignment.
    """
    print_generated_seed(shell, generated_seed)
    for line in report.lines():
        shell.note(escaped(line))
    if overload := _overload_text(report, placer):
        shell.warn(overload)
    _print_levels_hint(shell, placer, brokers)


def print_notes_of_topics(
    shell: Shell, reports: Mapping[str, Report], settings: PlacementSettings
) -> None:
    """Print what `print_notes` prints, for the first topics that have notes; count the others.

    `reports`: topic -> report of its rows.
    """
    print_generated_seed(shell, settings.generated_seed)
    noted = {
        topic: (report.lines(), _overload_text(report, settings.name))
        for topic, report in reports.items()
    }
    noted = {topic: notes for topic, notes in noted.items() if any(notes)}
    for topic, (lines, overload) in islice(noted.items(), TOPICS_NOTED):
        for line in lines:
            shell.note(f"topic {escaped(topic)}: {escaped(line)}")
        if overload:
            shell.warn(f"topic {escaped(topic)}: {overload}")
    more = [overload for _, overload in islice(noted.values(), TOPICS_NOTED, None)]
    if more:
        say = shell.warn if any(more) else shell.note
        say(f"{counted(len(more), 'more topic')} with such shares: --json prints those of each")
    _print_levels_hint(shell, settings.name, settings.brokers)


def _overload_text(report: Report, placer: str | None) -> str | None:
    """Name the broker that is far above its share; None if there is none."""
    most = max(report.brokers, key=lambda broker: (broker.replicas, -broker.id))
    if not report.is_uneven or most.replicas <= ceil(report.even_share):
        return None
    return (
        f"broker {most.id} holds {most.replicas} of {counted(report.replicas, 'replica')}, "
        f"{float(report.most_over_even):.1f} times an even share; {_remedy(report, placer)}"
    )


def _print_levels_hint(shell: Shell, placer: str | None, brokers: Sequence[Broker]) -> None:
    if placer == "kip36" and _has_uneven_racks(brokers):
        shell.note("hint: --placer levels balances everything that the racks do not force")


def _remedy(report: Report, placer: str | None) -> str:
    if placer is None:
        return "give it fewer replicas in --replica-assignment"
    if report.forced and placer == DEFAULT_PLACER:
        return "the racks force it: add brokers to the small racks, or use fewer replicas"
    return (
        "try --placer levels"
        if placer != DEFAULT_PLACER
        else "check the replicas that it held before"
    )


def _has_uneven_racks(brokers: Sequence[Broker]) -> bool:
    racks = [str(broker.rack) for broker in brokers if broker.rack is not None]
    return len({racks.count(rack) for rack in set(racks)}) > 1


def check_rows_known(placement: Placement, brokers: Sequence[Broker]) -> None:
    """Raise `UnknownBroker` if a row names a broker that the cluster does not have.

    Raise `InvalidAssignment` if a row names a cordoned broker.
    """
    for partition in placement:
        what = f"row of partition {partition}"
        check_known(placement[partition], brokers, what=what)
        check_uncordoned(placement[partition], brokers, what=what)
