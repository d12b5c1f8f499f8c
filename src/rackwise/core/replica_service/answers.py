"""Answers CreateReplicaAssignment: rows of a placer, or one of Kafka's error codes (KIP-879).

Goals, in order: an impossible request is rejected before any work is done; the first check that
fails decides the code, so equal requests get equal codes; the message of a rejection is the message
of the command line, followed by its hint.

```
num_partitions < 1                                   37 INVALID_PARTITIONS
replication_factor < 1, or over the brokers left     38 INVALID_REPLICATION_FACTOR
a node id twice, negative or unknown                 39 INVALID_REPLICA_ASSIGNMENT
over a limit; racks partial or malformed             42 INVALID_REQUEST
```

The brokers left are all brokers that may hold new replicas, or those of them that the request
names. An unknown node id counts as a broker left, so that it is rejected with code 39 and not with
code 38. `force_simple_assignment` ignores racks, whatever placer the service has. It is
`--disable-rack-aware` of Kafka's tools.

Every request has its own seed. The first request has the seed of the service. Later seeds are mixed
from it and the number of the request (splitmix64), because neighbouring seeds of `java.util.Random`
give similar first numbers.

```
seed 7   request 0   rows of seed 7
         request 1   rows of seed mixed(7, 1), below 2^31
```

What this does not do: wait, or log. An error of the placer is raised, not answered.

Source: KIP-879; `org.apache.kafka.common.protocol.Errors`; Steele, Lea and Flood, "Fast splittable
pseudorandom number generators" (OOPSLA 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.errors import (
    InvalidAssignment,
    InvalidConfig,
    InvalidPartitions,
    InvalidRack,
    InvalidReplication,
    NotEnoughBrokers,
    PartialRacks,
    RackwiseError,
    UnknownBroker,
)
from rackwise.core.placement import JavaRandom, RackMode, Striped, Unaware, place
from rackwise.core.placement.checks import check_partitions, check_replication
from rackwise.core.wire.replica_assignment import AssignmentResponse, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.model import Broker
    from rackwise.core.placement import Load, Placer
    from rackwise.core.wire.replica_assignment import AssignmentRequest

MOST_WAIT_MS = 300_000
"""The longest time that a request may wait for its answer."""
_MASK = (1 << 64) - 1
# The increment of splitmix64: the golden section of 2^64.
_GOLDEN = 0x9E3779B97F4A7C15


CODES: tuple[tuple[type[RackwiseError], ErrorCode], ...] = (
    (InvalidPartitions, ErrorCode.INVALID_PARTITIONS),
    (InvalidReplication, ErrorCode.INVALID_REPLICATION_FACTOR),
    (NotEnoughBrokers, ErrorCode.INVALID_REPLICATION_FACTOR),
    (InvalidAssignment, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (UnknownBroker, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (InvalidConfig, ErrorCode.INVALID_REQUEST),
    (InvalidRack, ErrorCode.INVALID_REQUEST),
    (PartialRacks, ErrorCode.INVALID_REQUEST),
)
"""Errors that the request causes, with their codes; any other error is the placer's or ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The largest request that is answered with rows."""

    partitions: int = 100_000
    replication: int = 100
    node_ids: int = 20_000
    replicas: int = 2_000_000
    """Partitions times replication."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The placer of the service, and its input besides the request."""

    brokers: tuple[Broker, ...]
    """All brokers of the cluster."""
    placer: Placer
    racks: RackMode = RackMode.ENFORCED
    load: Load | None = None
    limits: RequestLimits = RequestLimits()


def answer(service: Service, request: AssignmentRequest, seed: int) -> AssignmentResponse:
    """The rows of partitions 0, 1, .., as `place` returns them with that seed, or an error code.

    Raises what the placer raises, and `InvalidPlacer` for invalid rows.
    """
    try:
        brokers = _check_request(service, request)
        rows = place(
            brokers,
            request.num_partitions,
            request.replication_factor,
            placer=Unaware() if request.force_simple_assignment else service.placer,
            racks=RackMode.DISABLED if request.force_simple_assignment else service.racks,
            load=service.load,
            rng=JavaRandom(seed),
        )
    except tuple(kind for kind, _ in CODES) as error:
        return refusal(error)
    return AssignmentResponse(rows=rows.rows)


def refusal(error: RackwiseError) -> AssignmentResponse:
    """The answer to a rejected request: the code of an error of `CODES`, its message and hint."""
    code = next(code for kind, code in CODES if isinstance(error, kind))
    return failure(code, str(error) if error.hint is None else f"{error}; {error.hint}")


def failure(code: ErrorCode, message: str) -> AssignmentResponse:
    """An answer without rows: a code and a message."""
    return AssignmentResponse(rows=None, error_code=int(code), error_message=message)


def wait_ms(request: AssignmentRequest, most_ms: int = MOST_WAIT_MS) -> int:
    """How long the request may wait for its answer: its own limit, within 1 to `most_ms`."""
    return min(max(1, request.timeout_ms), most_ms)


def seed_of(seed: int, number: int) -> int:
    """The seed of request `number`, counted from 0, of a service whose seed is `seed`.

    >>> seed_of(7, 0), seed_of(7, 1)
    (7, 837153010)
    """
    if number == 0:
        return seed
    mixed = (seed + number * _GOLDEN) & _MASK
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
    return (mixed ^ mixed >> 31) >> 33


def _check_request(service: Service, request: AssignmentRequest) -> Sequence[Broker]:
    """The brokers for the placer. Raises the first error, in the order of the codes."""
    check_partitions(request.num_partitions, 0)
    check_replication(request.replication_factor, "")
    _check_replication(service, request)
    brokers = _requested_brokers(service, request)
    _check_limits(service.limits, request)
    return brokers


def _check_replication(service: Service, request: AssignmentRequest) -> None:
    """Reject a replication factor over the number of brokers left: `NotEnoughBrokers`."""
    accepts_fenced = isinstance(service.placer, Striped) and not request.force_simple_assignment
    excluded = {
        broker.id
        for broker in service.brokers
        if not accepts_fenced and (broker.is_fenced or not broker.is_live)
    }
    named = set(request.node_ids) or {broker.id for broker in service.brokers}
    left = len(named - excluded)
    if request.replication_factor > left:
        raise NotEnoughBrokers(
            f"replication {request.replication_factor} needs {request.replication_factor} "
            f"brokers; {left} are available",
            wanted=request.replication_factor,
            had=left,
            hint="use fewer replicas, or name more brokers",
        )


def _requested_brokers(service: Service, request: AssignmentRequest) -> Sequence[Broker]:
    """The brokers that the request names, by id; all brokers if it names none."""
    if not request.node_ids:
        return service.brokers
    known = {broker.id: broker for broker in service.brokers}
    seen: set[int] = set()
    for id_ in request.node_ids:
        if id_ in seen:
            raise InvalidAssignment(
                f"broker {id_} appears twice", wanted=1, had=2, hint="name each broker once"
            )
        if id_ not in known:
            raise UnknownBroker(
                f"unknown node id {id_}: no broker of the cluster has it",
                wanted="a broker of the cluster",
                had=id_,
                hint="leave it out, or wait until the service has read the cluster again",
            )
        seen.add(id_)
    return tuple(known[id_] for id_ in sorted(seen))


def _check_limits(limits: RequestLimits, request: AssignmentRequest) -> None:
    replicas = request.num_partitions * request.replication_factor
    for noun, most, had in (
        ("partitions", limits.partitions, request.num_partitions),
        ("replicas of a partition", limits.replication, request.replication_factor),
        ("node ids", limits.node_ids, len(request.node_ids)),
        ("replicas in all", limits.replicas, replicas),
    ):
        if had > most:
            raise InvalidConfig(
                f"invalid request: expected at most {most} {noun}, got {had}",
                wanted=most,
                had=had,
                hint="request less, or start the service with a higher limit",
            )
