"""Calls a placer: checks the request, applies the rack mode, and checks rows of external placers.

```
brokers ──> cordoned, fenced left out ──> rack mode ──> Request ──> placer ──> rows ──> Placement
   partitions, replication checked first                    a stranger's rows are checked
```

The checks run in Kafka's order: partitions, replication, number of brokers, racks. Only `striped`
receives fenced brokers, because it uses them last. As in Kafka, its rows are checked against all
registered brokers. No placer receives cordoned brokers (KIP-1066). A placer outside `PLACERS` is
external. Its rows must be int32 of the requested shape, with known brokers and no broker twice in
a row.

This module does not find placers by name (the command line does), does not check how even or how
spread rows are (the audit does), and does not connect to a cluster.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.errors import (
    InvalidAssignment,
    InvalidPartitions,
    InvalidPlacer,
    RackwiseError,
)
from rackwise.core.placement.checks import (
    ERRORS,
    STRANGER_HINT,
    check_even_rows,
    check_known,
    check_partitions,
    check_registered,
    check_replication,
    check_rows,
    check_unfenced,
)
from rackwise.core.placement.model import Placement, Placer, ReplicationChanger, Request
from rackwise.core.placement.placers.kip36 import Kip36, Unaware
from rackwise.core.placement.placers.levels import Levels
from rackwise.core.placement.placers.ring import Ring
from rackwise.core.placement.placers.striped import Striped
from rackwise.core.placement.rack_modes import REFUSAL, RackMode, apply_mode, by_id
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rackwise.core.model import Broker
    from rackwise.core.placement.model import Draws, Load

PLACERS: Mapping[str, type] = MappingProxyType(
    {"kip36": Kip36, "unaware": Unaware, "striped": Striped, "ring": Ring, "levels": Levels}
)
"""The built-in placers by name."""
DEFAULT = Levels()
AWARE_REFUSAL = (
    REFUSAL,
    "Not all brokers have rack information for replica rack aware assignment.",
)
"""What `AdminUtils` throws where racks are partial."""
ADMIN_UTILS_REPLICATION = "Replication factor must be larger than 0."
STRIPED_REPLICATION = "Invalid replication factor {}: the replication factor must be positive."


def place(
    brokers: Sequence[Broker],
    partitions: int,
    replication: int,
    *,
    placer: Placer = DEFAULT,
    racks: RackMode = RackMode.ENFORCED,
    first_partition: int = 0,
    load: Load | None = None,
    rng: Draws | None = None,
) -> Placement:
    """Rows for the partitions of a new topic, from `first_partition` on.

    Raises `InvalidPartitions`, `InvalidReplication`, `NotEnoughBrokers`, `PartialRacks`,
    `InvalidAssignment` (a repeated broker), `InvalidPlacer`, and the errors of the placer. To
    `levels` and `ring`, odd racks (`core.odd_racks`) are partial racks.

    >>> from rackwise import Broker, Kip36, Rack, place
    >>> brokers = [Broker(id=i, rack=Rack(f"rack{i % 3}")) for i in range(6)]
    >>> place(brokers, 2, 3, placer=Kip36(start=0)).as_dict()
    {0: [0, 1, 2], 1: [1, 2, 3]}
    """
    _check_placer(placer)
    check_partitions(partitions, first_partition)
    request = Request(
        brokers=_usable_brokers(brokers, replication, placer, racks),
        partitions=partitions,
        replication=replication,
        first_partition=max(0, first_partition),
        load=load,
        rng=rng,
    )
    return _placed(placer, placer.place, request)


def add_partitions(
    existing: Placement,
    brokers: Sequence[Broker],
    count: int,
    *,
    placer: Placer = DEFAULT,
    racks: RackMode = RackMode.ENFORCED,
    load: Load | None = None,
    rng: Draws | None = None,
    topic: str | None = None,
) -> Placement:
    """Rows for `count` more partitions, with as many replicas as partition 0; only the new rows.

    `topic` is only used in errors. Raises what `place` raises, and `InvalidAssignment` if partition
    0 is missing or existing rows differ in length.
    """
    _check_placer(placer)
    _check_row_0(existing, topic)
    _check_increase(len(existing), count, topic)
    check_partitions(count, len(existing))
    check_even_rows(existing, topic)
    replication = int(existing.lengths[0])
    request = Request(
        brokers=_usable_brokers(brokers, replication, placer, racks),
        partitions=count,
        replication=replication,
        first_partition=len(existing),
        existing=existing,
        load=load,
        rng=rng,
    )
    return _placed(placer, placer.place, request)


def change_replication(
    existing: Placement,
    brokers: Sequence[Broker],
    replication: int,
    *,
    placer: Placer = DEFAULT,
    racks: RackMode = RackMode.ENFORCED,
    load: Load | None = None,
    rng: Draws | None = None,
    topic: str | None = None,
) -> Placement:
    """All rows with `replication` replicas; only added or removed replicas differ.

    `topic` is only used in errors. Raises what `place` raises, `InvalidPlacer` for a placer without
    `change`, `InvalidAssignment` for rows of different length, and `UnknownBroker` if a row names a
    broker that does not exist or is fenced.
    """
    _check_placer(placer)
    if not isinstance(placer, ReplicationChanger):
        raise InvalidPlacer(
            f'placer "{placer.name}" cannot change the replication of existing partitions',
            wanted="change",
            had=placer.name,
            hint="--placer levels",
        )
    check_partitions(len(existing), existing.first)
    check_even_rows(existing, topic)
    usable = _usable_brokers(brokers, replication, placer, racks)
    check_known(existing, usable, topic)
    request = Request(
        brokers=usable,
        partitions=len(existing),
        replication=replication,
        first_partition=existing.first,
        existing=existing,
        load=load,
        rng=rng,
    )
    return _placed(placer, placer.change, request)


def has_levels(placer: Placer) -> bool:
    """Whether the placer reads levels of racks; the others take any text as a name, as Kafka does.

    External placers get the racks verbatim.
    """
    return isinstance(placer, (Levels, Ring))


def _check_placer(placer: object) -> None:
    if isinstance(placer, type) or not isinstance(placer, Placer):
        raise InvalidPlacer(
            f"invalid placer: expected an object with a name and a method place, got {placer!r}",
            wanted="a placer",
            had=repr(placer),
            hint="give an instance, such as Kip36(start=0)",
        )


def _check_row_0(existing: Placement, topic: str | None) -> None:
    if existing.first == 0 and len(existing) and existing.lengths[0]:
        return
    missing = (
        f"Unexpected existing replica assignment for topic '{topic}', partition id 0 is missing."
    )
    raise InvalidAssignment(
        f"invalid existing rows: expected {counted(len(existing), 'row')} from partition 0 on, "
        f"each with replicas, got first partition {existing.first}",
        wanted=0,
        had=existing.first,
        hint="give all rows of the topic",
        upstream=(REFUSAL, missing),
    )


def _check_increase(existing: int, count: int, topic: str | None) -> None:
    if type(count) is int and count >= 1:
        return
    total = existing + count if type(count) is int else count
    raise InvalidPartitions(
        f"invalid partitions to add: expected at least 1, got {count!r}",
        wanted=1,
        had=count,
        upstream=(
            ERRORS + "InvalidPartitionsException",
            (
                f"The number of partitions for a topic can only be increased. Topic {topic} "
                f"currently has {existing} partitions, {total} would not be an increase."
            ),
        ),
    )


def _usable_brokers(
    brokers: Sequence[Broker], replication: int, placer: Placer, racks: RackMode
) -> tuple[Broker, ...]:
    """The brokers that the placer receives, in id order, with racks after the rack mode."""
    takes_fenced = isinstance(placer, Striped)
    check_replication(
        replication,
        STRIPED_REPLICATION.format(replication) if takes_fenced else ADMIN_UTILS_REPLICATION,
    )
    ordered = by_id(brokers)
    cordoned = [broker for broker in ordered if broker.is_cordoned]
    fenced = [broker for broker in ordered if broker.is_fenced and not broker.is_cordoned]
    usable = [
        broker
        for broker in ordered
        if broker.is_live and not broker.is_fenced and not broker.is_cordoned
    ]
    check = check_registered if takes_fenced else check_unfenced
    check(replication, usable, fenced, cordoned)
    return apply_mode(
        [*usable, *fenced] if takes_fenced else usable,
        RackMode(racks),
        upstream=AWARE_REFUSAL,
        has_levels=has_levels(placer),
    )


def _placed(
    placer: Placer, make: Callable[[Request], NDArray[np.int32]], request: Request
) -> Placement:
    """The rows of the placer; exceptions and rows of external placers are checked."""
    if type(placer) in PLACERS.values():
        return Placement(rows=make(request), first=request.first_partition)
    try:
        rows = make(request)
    except (RackwiseError, MemoryError):
        raise
    except Exception as error:
        raise InvalidPlacer(
            f'placer "{placer.name}" raised {type(error).__name__}: {error}',
            wanted="rows",
            had=type(error).__name__,
            hint=STRANGER_HINT,
        ) from error
    check_rows(placer.name, rows, request)
    return Placement(rows=rows, first=request.first_partition)
