"""What `place` and `topic` share: their options, what these mean on a cluster, and what is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rackwise.cli.place.placers import made, pairs
from rackwise.cli.shell import Shell
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
    import numpy as np
    from numpy.typing import NDArray

    from rackwise.core.model import Broker, Cluster, PartitionTable
    from rackwise.core.placement import Draws, Load, Placement, Placer, RackMode, Report

DEFAULT_PLACER = "levels"
NUMBER = re.compile(r"-?[0-9]{1,10}")
INTEGER = re.compile(r"-?[0-9]+")
SEED_END = 1 << 31
"""Seeds that we draw are below this."""
ID_END = 1 << 31
MAX_DIGITS = 10


def partition_count(text: str) -> int:
    """The number that `--partitions` is; whether a topic can have so many is asked later.

    Raises `InvalidPartitions` for what is no whole number: 1.0 is none.
    """
    return _whole(text, "partitions", InvalidPartitions)


def replica_count(text: str) -> int:
    """The same of `--replication-factor`. Raises `InvalidReplication`."""
    return _whole(text, "replication", InvalidReplication)


def _whole(text: str, noun: str, error: type[InputError]) -> int:
    if NUMBER.fullmatch(text):
        return int(text)
    raise error(
        f"invalid {noun}: expected an integer of 1 or more, got {escaped(text)}", wanted=1, had=text
    )


PlacerName = Annotated[
    str | None, typer.Option("--placer", metavar="NAME", help="Who places. [default: levels]")
]
PlacerOptions = Annotated[
    list[str] | None, typer.Option("--placer-option", metavar="K=V", help="For it; repeatable.")
]
RackModeName = Annotated[
    Literal["enforced", "safe", "one-rack"] | None,
    typer.Option("--rack-mode", help="Where some brokers have no rack. [default: enforced]"),
]
IgnoreRacks = Annotated[
    bool,
    typer.Option("--disable-rack-aware", "--ignore-racks", help="Place as if there were no racks."),
]
BrokerList = Annotated[
    str | None, typer.Option("--broker-list", metavar="IDS", help="Only on these, comma between.")
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Equal seeds, equal rows; else drawn.")
]
NoLoad = Annotated[
    bool, typer.Option("--no-load", help="Do not look at what brokers hold of other topics.")
]


@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of placing as they were given; None and False where they were not."""

    placer: str | None
    placer_options: Sequence[str]
    rack_mode: str | None
    ignores_racks: bool
    broker_list: str | None
    seed: int | None
    no_load: bool

    def given(self) -> list[str]:
        """The names of those that were given."""
        values = {
            "--placer": self.placer,
            "--placer-option": self.placer_options,
            "--rack-mode": self.rack_mode,
            "--disable-rack-aware": self.ignores_racks,
            "--broker-list": self.broker_list,
            "--seed": None if self.seed is None else "given",
            "--no-load": self.no_load,
        }
        return [name for name, value in values.items() if value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The same on a cluster: who places, on which brokers, with which racks, load and draws."""

    name: str
    options: Mapping[str, str]
    placer: Placer
    brokers: tuple[Broker, ...]
    racks: RackMode
    load: Load | None
    seed: int
    is_drawn: bool
    rng: Draws

    @property
    def drawn(self) -> int | None:
        """The seed where it was drawn."""
        return self.seed if self.is_drawn else None

    def as_dict(self) -> dict[str, Any]:
        """What repeats the rows, for documents."""
        return {
            "placer": self.name,
            "placer_options": dict(self.options),
            "rack_mode": str(self.racks),
            "seed": self.seed,
        }


def terms(wishes: Wishes, cluster: Cluster, *, topic: str | None = None) -> Terms:
    """What the wishes mean. `topic`: whose rows are no load.

    Raises `InvalidConfig`, `InvalidPlacer`, `InvalidAssignment`, `UnknownBroker`.
    """
    from rackwise.core.placement import RackMode

    if wishes.ignores_racks and wishes.rack_mode is not None:
        raise InvalidConfig(
            f"expected one rack mode, got --disable-rack-aware and --rack-mode {wishes.rack_mode}",
            wanted=1,
            had=2,
            hint="omit one of them",
        )
    mode = RackMode.DISABLED if wishes.ignores_racks else RackMode(wishes.rack_mode or "enforced")
    name = wishes.placer or DEFAULT_PLACER
    options = pairs(wishes.placer_options, option="--placer-option")
    placer = made(name, options)
    brokers = chosen(cluster.brokers, wishes.broker_list)
    seed, rng = draws(wishes.seed)
    return Terms(
        name=name,
        options=options,
        placer=placer,
        brokers=brokers,
        racks=mode,
        load=None if wishes.no_load else load_of(cluster.partitions, without=topic),
        seed=seed,
        is_drawn=wishes.seed is None,
        rng=rng,
    )


def draws(seed: int | None) -> tuple[int, Draws]:
    """The seed, drawn where none was given, and the numbers that Java draws from it."""
    from rackwise.core.placement import JavaRandom

    if seed is None:
        import secrets

        seed = secrets.randbelow(SEED_END)
    return seed, JavaRandom(seed)


def chosen(brokers: Sequence[Broker], broker_list: str | None) -> tuple[Broker, ...]:
    """The brokers of a list such as `1,2,3`, or all of them.

    Raises `InvalidConfig`, `InvalidAssignment` for a broker twice or no id, `UnknownBroker`.
    """
    if broker_list is None:
        return tuple(brokers)
    ids = broker_ids(broker_list)
    check_known(ids, brokers, what="--broker-list")
    return tuple(broker for broker in brokers if broker.id in ids)


def broker_ids(broker_list: str) -> list[int]:
    """The ids of a list such as `1,2,3`.

    Raises `InvalidConfig`, `InvalidAssignment` for a broker twice or no id.
    """
    ids = [_id(text.strip()) for text in broker_list.split(",")]
    for place, id_ in enumerate(ids):
        if id_ in ids[:place]:
            raise InvalidAssignment(
                f"invalid --broker-list: expected each broker once, got {id_} twice",
                wanted=1,
                had=2,
                hint="name each broker once",
            )
    return ids


def _id(text: str) -> int:
    if INTEGER.fullmatch(text):
        if text.isdigit() and len(text) <= MAX_DIGITS and int(text) < ID_END:
            return int(text)
        raise InvalidAssignment(
            f"invalid --broker-list: expected broker ids from 0 to {ID_END - 1}, got {text}",
            wanted=f"0 to {ID_END - 1}",
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
    """Raises `UnknownBroker` for the first id that no broker has; `what` is where it stands."""
    known = [broker.id for broker in brokers]
    for id_ in ids:
        if id_ not in known:
            raise UnknownBroker(
                f"invalid {what}: expected a broker of the cluster, got {id_}",
                wanted="a broker of the cluster",
                had=id_,
                hint=f"brokers: {', '.join(map(str, known)) or 'none'}",
            )


def load_of(table: PartitionTable, *, without: str | None = None) -> Load:
    """Replicas and preferred leaders of each broker, over all topics but one."""
    import numpy as np

    from rackwise.core.placement import Load

    topics = np.array([topic != without for topic in table.topics], dtype=np.bool_)
    is_other = topics[table.topic] if len(table) else np.zeros(0, dtype=np.bool_)
    replicas = table.replicas
    firsts = replicas.offsets[:-1][is_other & (replicas.lengths > 0)]
    return Load(
        replicas=_counts(replicas.values[is_other[replicas.rows]]),
        leaders=_counts(replicas.values[firsts]),
    )


def _counts(ids: NDArray[np.int32]) -> Mapping[int, int]:
    import numpy as np

    found, times = np.unique(ids, return_counts=True)
    return dict(zip(found.tolist(), times.tolist(), strict=True))


def rows_of(cluster: Cluster, topic: str) -> Placement:
    """The rows of a topic of the cluster, what a running reassignment adds among them."""
    import numpy as np

    from rackwise.core.placement import Placement

    table = cluster.partitions
    rows = np.flatnonzero(table.topic == table.topics.index(topic))
    return Placement.of(
        {int(table.partition[row]): table.replicas.row(int(row)) for row in rows.tolist()}
    )


def placed(
    shell: Shell, agreed: Terms, partitions: int, replication: int
) -> tuple[Placement, Report]:
    """The rows of a new topic, and what they cost, which is told. Raises what `place` raises."""
    from rackwise.core.placement import place

    rows = place(
        agreed.brokers,
        partitions,
        replication,
        placer=agreed.placer,
        racks=agreed.racks,
        load=agreed.load,
        rng=agreed.rng,
    )
    report = explained(rows, agreed.brokers, agreed.racks)
    tell(shell, report, agreed.brokers, placer=agreed.name, drawn=agreed.drawn)
    return rows, report


def explained(placement: Placement, brokers: Sequence[Broker], racks: RackMode) -> Report:
    """What the rows cost the brokers that may serve, and those that hold some of them."""
    import numpy as np

    from rackwise.core.placement import RackMode, apply_mode, explain

    held = set(np.unique(placement.rows).tolist())
    seen = [each for each in brokers if each.id in held or (each.is_live and not each.is_fenced)]
    lenient = RackMode.ONE_RACK if racks is RackMode.ENFORCED else racks
    return explain(placement, apply_mode(seen, lenient))


def tell(
    shell: Shell,
    report: Report,
    brokers: Sequence[Broker],
    *,
    placer: str | None,
    drawn: int | None = None,
) -> None:
    """A drawn seed, forced shares, a warning for a broker far above its share with a way out.

    `placer` is None for rows that were written by hand.
    """
    if drawn is not None:
        shell.note(f"seed {drawn}: --seed {drawn} gives the same rows again")
    for line in report.lines():
        shell.note(escaped(line))
    most = max(report.brokers, key=lambda broker: (broker.replicas, -broker.id))
    if report.is_uneven and most.replicas > ceil(report.even_share):
        shell.warn(
            f"broker {most.id} holds {most.replicas} of {counted(report.replicas, 'replica')}, "
            f"{float(report.most_over_even):.1f} times an even share; {_way_out(report, placer)}"
        )
    if placer == "kip36" and _has_uneven_racks(brokers):
        shell.note("hint: --placer levels spreads evenly what the racks do not force")


def _way_out(report: Report, placer: str | None) -> str:
    if placer is None:
        return "write rows that give it less"
    if report.forced and placer == DEFAULT_PLACER:
        return "the racks force it: add brokers to the small racks, or use fewer replicas"
    return "try --placer levels" if placer != DEFAULT_PLACER else "look at what it held before"


def _has_uneven_racks(brokers: Sequence[Broker]) -> bool:
    racks = [str(broker.rack) for broker in brokers if broker.rack is not None]
    return len({racks.count(rack) for rack in set(racks)}) > 1


def check_rows_known(placement: Placement, brokers: Sequence[Broker]) -> None:
    """Raises `UnknownBroker` for rows by hand that name a broker the cluster does not have."""
    for partition in placement:
        check_known(placement[partition], brokers, what=f"row of partition {partition}")
