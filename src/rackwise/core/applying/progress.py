"""The remaining bytes of a run, its rates, its remaining time, and the broker that limits it.

Goals, in order: report no time without evidence; name the limiting broker; count partitions of
unknown size, and never take them for zero.

Algorithm. Each replica to be added has the size of the partition; the bytes that arrived are
subtracted. These bytes come into its broker, and out of the partition's current leader. A broker
needs its remaining bytes divided by its rate: the throttle or the rate observed in the last minute,
whichever is lower. The slowest broker is the answer.

```
10 GB 1 -> 4, 30 GB 1 -> 5, 20 GB 2 -> 4, each broker at 50 MB/s
into 4: 30 GB 600 s    into 5: 30 GB 600 s    out of 1: 40 GB 800 s    out of 2: 20 GB 400 s
800 s, bound by outgoing of broker 1
```

A broker without traffic in the last minute counts as fast as the fastest observed broker, because
its moves may not have started.

What this does not do: predict the rest of the schedule. A broker that waits for others finishes
later than reported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rackwise.core.applying.model import FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.applying.model import ApplyState, Progress, Sample
    from rackwise.core.planning.model import Move

_MS = 1_000
Way = Literal["incoming", "outgoing"]
"""Into a broker, or out of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """The bytes that are still to be copied."""

    incoming: Mapping[int, int]
    """Broker -> bytes into it."""
    outgoing: Mapping[int, int]
    """Leader -> bytes out of it."""
    total: int
    """Bytes of all known sizes, also where no leader is known."""
    unknown: int
    """Number of partitions of unknown size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRates:
    """Bytes per second by broker."""

    incoming: Mapping[int, int]
    """Broker -> bytes per second into it."""
    outgoing: Mapping[int, int]
    """Broker -> bytes per second out of it."""
    default_in: int | None = None
    """Rate into a broker that is not in `incoming`, if known."""
    default_out: int | None = None
    """Rate out of a broker that is not in `outgoing`, if known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta:
    """The time until the run is done."""

    seconds: int | None
    """None: unknown."""
    bound_by: str | None
    """The limit, such as `outgoing of broker 1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busiest:
    """The broker with the most bytes to copy."""

    broker: int
    way: Way
    bytes: int


def busiest(left: Remaining) -> Busiest | None:
    """The broker with the most bytes of known size into it or out of it; None without bytes.

    It is the one that `eta_at` names.
    """
    ways: tuple[tuple[Way, Mapping[int, int]], ...] = (
        ("incoming", left.incoming),
        ("outgoing", left.outgoing),
    )
    found = [
        Busiest(broker=broker, way=way, bytes=count)
        for way, by_broker in ways
        for broker, count in sorted(by_broker.items())
        if count
    ]
    return max(found, key=lambda each: each.bytes, default=None)


def remaining(pairs: Iterable[tuple[Move, Progress]]) -> Remaining:
    """What these moves still have to copy; done and failed moves copy nothing."""
    incoming: Counter[int] = Counter()
    outgoing: Counter[int] = Counter()
    total = unknown = 0
    for move, progress in pairs:
        missing = _missing(move, progress)
        if not missing:
            continue
        if move.bytes is None:
            unknown += 1
            continue
        seen = progress.seen
        left = {
            broker: max(0, move.bytes - (seen.adding_bytes.get(broker, 0) if seen else 0))
            for broker in missing
        }
        incoming.update(left)
        total += sum(left.values())
        if seen is not None and seen.leader is not None:
            outgoing[seen.leader] += sum(left.values())
    return Remaining(incoming=dict(incoming), outgoing=dict(outgoing), total=total, unknown=unknown)


def _missing(move: Move, progress: Progress) -> tuple[int, ...]:
    """Brokers that still need a copy of the partition."""
    if progress.class_ in FAILED | {"done", "cancelled", "dropped"}:
        return ()
    if progress.seen is None:
        return move.added
    return tuple(each for each in move.after if each not in progress.seen.placed)


def observed_rates(samples: tuple[Sample, ...]) -> BrokerRates:
    """Observed rates; empty without time between two readings."""
    span_ms = samples[-1].at_ms - samples[0].from_ms if samples else 0
    if span_ms <= 0:
        return BrokerRates(incoming={}, outgoing={})
    incoming = _per_second([each.incoming for each in samples], span_ms)
    outgoing = _per_second([each.outgoing for each in samples], span_ms)
    return BrokerRates(
        incoming=incoming,
        outgoing=outgoing,
        default_in=max(incoming.values(), default=None),
        default_out=max(outgoing.values(), default=None),
    )


def _per_second(deltas: Iterable[Mapping[int, int]], span_ms: int) -> dict[int, int]:
    """Broker -> bytes per second over the whole span, without zeros."""
    sums: Counter[int] = Counter()
    for each in deltas:
        sums.update(each)
    return {broker: value * _MS // span_ms for broker, value in sums.items() if value}


def rates_of(state: ApplyState) -> BrokerRates:
    """The throttle or the observed rate of each broker, whichever is lower."""
    seen = observed_rates(state.samples)
    live = sorted(state.live)
    incoming = {
        b: _least(state.rates_in.get(b), seen.incoming.get(b, seen.default_in)) for b in live
    }
    outgoing = {
        b: _least(state.rates_out.get(b), seen.outgoing.get(b, seen.default_out)) for b in live
    }
    return BrokerRates(
        incoming={b: rate for b, rate in incoming.items() if rate},
        outgoing={b: rate for b, rate in outgoing.items() if rate},
        default_in=seen.default_in,
        default_out=seen.default_out,
    )


def _least(throttle: int | None, observed: int | None) -> int | None:
    """The lower of the known rates; None if none is known."""
    known = [each for each in (throttle, observed) if each is not None]
    return min(known, default=None)


def eta(left: Remaining, rates: BrokerRates) -> Eta:
    """The time of the slowest broker; unknown where a broker has bytes left and no known rate."""
    slowest = Eta(seconds=0, bound_by=None)
    for way, by_broker, known, otherwise in (
        ("incoming", left.incoming, rates.incoming, rates.default_in),
        ("outgoing", left.outgoing, rates.outgoing, rates.default_out),
    ):
        for broker, count in sorted(by_broker.items()):
            if not count:
                continue
            rate = known.get(broker, otherwise)
            bound_by = f"{way} of broker {broker}"
            if not rate:
                return Eta(seconds=None, bound_by=bound_by)
            seconds = -(-count // rate)
            if slowest.seconds is not None and seconds > slowest.seconds:
                slowest = Eta(seconds=seconds, bound_by=bound_by)
    return slowest


def eta_at(left: Remaining, rate: int) -> Eta:
    """The remaining time if each broker sends and receives this many bytes per second."""
    return eta(left, BrokerRates(incoming={}, outgoing={}, default_in=rate, default_out=rate))
