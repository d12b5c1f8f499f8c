"""Checks of a request before a placer runs, and checks of the rows that the placer returns.

Each check is a function. It returns nothing, or it raises an error that contains the expected and
the actual value. If Kafka rejects the same request, the error contains Kafka's class and text.

Source: `org.apache.kafka.admin.AdminUtils` (3.9), `StripedReplicaPlacer` (4.x).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import (
    InvalidAssignment,
    InvalidPartitions,
    InvalidPlacer,
    InvalidReplication,
    NotEnoughBrokers,
    UnknownBroker,
)
from rackwise.core.placement.model import NOBODY
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.model import Broker
    from rackwise.core.placement.model import Placement, Request

ERRORS = "org.apache.kafka.common.errors."
TOO_FEW = ERRORS + "InvalidReplicationFactorException"
MOST_PARTITIONS = 2**31 - 1
FENCED_HINT = "start the fenced brokers: "
CORDONED_HINT = "uncordon the brokers: "
STRANGER_HINT = "fix the placer, or use a built-in one such as levels"


def check_partitions(partitions: int, first: int) -> None:
    """Raises `InvalidPartitions` if a topic cannot have so many partitions."""
    if type(partitions) is not int or partitions < 1:
        raise InvalidPartitions(
            f"invalid partitions: expected at least 1, got {partitions!r}",
            wanted=1,
            had=partitions,
            upstream=(
                ERRORS + "InvalidPartitionsException",
                "Number of partitions must be larger than 0.",
            ),
        )
    if type(first) is not int or first + partitions > MOST_PARTITIONS:
        raise InvalidPartitions(
            f"invalid partition ids: expected integers below {MOST_PARTITIONS}, got "
            f"{partitions} from {first!r} on",
            wanted=MOST_PARTITIONS,
            had=first,
        )


def check_replication(replication: int, upstream: str) -> None:
    """Raises `InvalidReplication`, with Kafka's text, if the value is not a positive number."""
    if type(replication) is not int or replication < 1:
        raise InvalidReplication(
            f"invalid replication: expected at least 1, got {replication!r}",
            wanted=1,
            had=replication,
            upstream=(TOO_FEW, upstream),
        )


def check_unfenced(
    replication: int,
    usable: Sequence[Broker],
    fenced: Sequence[Broker],
    cordoned: Sequence[Broker] = (),
) -> None:
    """Raises `NotEnoughBrokers` if replicas would have to go to fenced or cordoned brokers."""
    if replication > len(usable):
        needed = (
            f"{counted(replication, 'broker')} to take replicas"
            if cordoned
            else counted(replication, "unfenced broker")
        )
        raise NotEnoughBrokers(
            f"replication {replication} needs {needed}; the cluster has {len(usable)}",
            wanted=replication,
            had=len(usable),
            hint=_open_hint(fenced, cordoned),
            upstream=(
                TOO_FEW,
                f"Replication factor: {replication} larger than available brokers: {len(usable)}.",
            ),
        )


def check_registered(
    replication: int,
    usable: Sequence[Broker],
    fenced: Sequence[Broker],
    cordoned: Sequence[Broker] = (),
) -> None:
    """Raises `NotEnoughBrokers` if fenced brokers do not suffice either, or none is unfenced."""
    registered = len(usable) + len(fenced)
    if not usable:
        needed, had = "an unfenced broker", "are unfenced"
        if cordoned:
            needed, had = "a broker that takes replicas", "are unfenced and not cordoned"
        raise NotEnoughBrokers(
            f"a leader needs {needed}; 0 of {registered + len(cordoned)} brokers {had}",
            wanted=1,
            had=0,
            hint=_open_hint(fenced, cordoned),
            upstream=(TOO_FEW, "All brokers are currently fenced."),
        )
    if replication > registered:
        raise NotEnoughBrokers(
            f"replication {replication} needs {counted(replication, 'broker')}; "
            f"the cluster has {registered}, including fenced ones"
            f"{' and without cordoned ones' if cordoned else ''}",
            wanted=replication,
            had=registered,
            hint=_open_hint((), cordoned),
            upstream=(
                TOO_FEW,
                (
                    f"The target replication factor of {replication} cannot be reached "
                    f"because only {registered} broker(s) are registered."
                ),
            ),
        )


def _open_hint(fenced: Sequence[Broker], cordoned: Sequence[Broker]) -> str:
    """The hint that names the brokers that could take replicas again."""
    ways = [
        text + _ids(brokers)
        for text, brokers in ((FENCED_HINT, fenced), (CORDONED_HINT, cordoned))
        if brokers
    ]
    return ", or ".join(["use fewer replicas", *(ways or ["add brokers"])])


def _ids(brokers: Sequence[Broker]) -> str:
    return ", ".join(str(each) for each in sorted(broker.id for broker in brokers))


def check_even_rows(existing: Placement, topic: str | None) -> None:
    """Raises `InvalidAssignment` if rows differ in length, as during a reassignment."""
    lengths = existing.lengths
    odd = np.flatnonzero(lengths != lengths[:1])
    if len(odd):
        raise InvalidAssignment(
            f"{_of(topic)}partition {existing.first + odd[0]} has "
            f"{counted(int(lengths[odd[0]]), 'replica')}, "
            f"partition {existing.first} has {lengths[0]}",
            wanted=int(lengths[0]),
            had=int(lengths[odd[0]]),
            hint="if a reassignment of the topic runs, wait for it or cancel it; else give all its "
            "partitions equally many replicas: rackwise plan set-rf",
        )


def check_known(existing: Placement, brokers: Sequence[Broker], topic: str | None) -> None:
    """Raises `UnknownBroker` if a row names a broker that is not in `brokers`."""
    strange = existing.rows != NOBODY
    strange &= ~np.isin(existing.rows, [broker.id for broker in brokers])
    if strange.any():
        row, column = np.argwhere(strange)[0]
        broker = int(existing.rows[row, column])
        raise UnknownBroker(
            f"{_of(topic)}partition {existing.first + row} is on broker {broker}, which is "
            "missing, fenced or cordoned",
            wanted="a broker of the cluster",
            had=broker,
            hint="start or uncordon that broker, or move the replica away first",
        )


def _of(topic: str | None) -> str:
    return "" if topic is None else f"topic {topic} "


def check_rows(name: str, rows: object, request: Request) -> None:
    """Raises `InvalidPlacer` for rows that no topic can have; names the first bad partition."""
    shape = [request.partitions, request.replication]
    had = type(rows).__name__
    if isinstance(rows, np.ndarray):
        had = f"{rows.dtype} {list(rows.shape)}"
    if not isinstance(rows, np.ndarray) or had != f"int32 {shape}":
        raise InvalidPlacer(
            f'invalid rows of placer "{name}": expected int32 {shape}, got {had}',
            wanted=f"int32 {shape}",
            had=had,
            hint=STRANGER_HINT,
        )
    known = np.isin(rows, np.array([broker.id for broker in request.brokers], dtype=np.int32))
    if not known.all():
        row, column = np.argwhere(~known)[0]
        raise InvalidPlacer(
            f'placer "{name}" put partition {request.first_partition + row} on broker '
            f"{rows[row, column]}, which is not in the request",
            wanted="a broker of the request",
            had=int(rows[row, column]),
            hint=STRANGER_HINT,
        )
    columns = np.ascontiguousarray(rows.T)
    is_repeat = np.zeros(len(rows), dtype=np.bool_)
    for apart in range(1, len(columns)):
        is_repeat |= (columns[apart:] == columns[:-apart]).any(axis=0)
    repeats = np.flatnonzero(is_repeat)
    if len(repeats):
        raise InvalidPlacer(
            f'placer "{name}" put partition {request.first_partition + repeats[0]} twice on one '
            f"broker: {':'.join(map(str, rows[repeats[0]].tolist()))}",
            wanted=request.replication,
            had=len(set(rows[repeats[0]].tolist())),
            hint=STRANGER_HINT,
        )
