"""How much is left, how fast it goes, when it will be over, and which broker decides that.

Goals, in order: no time is given that nothing supports; the broker that binds is named; what is of
unknown size is counted and never taken for nothing.

Algorithm. Each replica to be added is as many bytes as the partition; what has arrived of it is
taken off. These bytes come into its broker, and out of the partition's current leader. A broker
needs its remaining bytes divided by its rate: the throttle that holds there, or what was observed
in the last minute, whichever is less. The slowest broker is the answer.

```
10 GB 1 -> 4, 30 GB 1 -> 5, 20 GB 2 -> 4, each broker at 50 MB/s
into 4: 30 GB 600 s    into 5: 30 GB 600 s    out of 1: 40 GB 800 s    out of 2: 20 GB 400 s
800 s, bound by outgoing of broker 1
```

A broker through which nothing went in the last minute is taken to be as fast as the fastest that
was seen, as its moves may not have begun.

What this does not do: foresee the rest of the schedule; a broker that waits for others to finish
ends later than told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.applying.model import FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.applying.model import ApplyState, Progress, Sample
    from rackwise.core.planning.model import Move

_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """Bytes to come: into each broker, out of each leader. `unknown`: partitions of unknown size.

    `total`: of known sizes, also where no leader is known.
    """

    incoming: Mapping[int, int]
    outgoing: Mapping[int, int]
    total: int
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Bytes per second by broker, into it and out of it. `otherwise`: of the others, if known."""

    incoming: Mapping[int, int]
    outgoing: Mapping[int, int]
    otherwise_in: int | None = None
    otherwise_out: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta:
    """When it will be over. `seconds`: None = not known; `bound_by`: `outgoing of broker 1`."""

    seconds: int | None
    bound_by: str | None


def remaining(pairs: Iterable[tuple[Move, Progress]]) -> Remaining:
    """What these moves still have to copy; those that are done or lost have nothing to copy."""
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
    """Brokers that the partition is still to be copied to."""
    if progress.class_ in FAILED | {"done", "cancelled", "dropped"}:
        return ()
    if progress.seen is None:
        return move.added
    return tuple(each for each in move.after if each not in progress.seen.placed)


def observed(samples: tuple[Sample, ...]) -> Rates:
    """Rates of what was seen to arrive; without a time between two looks nothing is known."""
    span_ms = samples[-1].at_ms - samples[0].from_ms if samples else 0
    if span_ms <= 0:
        return Rates(incoming={}, outgoing={})
    incoming = _per_second([each.incoming for each in samples], span_ms)
    outgoing = _per_second([each.outgoing for each in samples], span_ms)
    return Rates(
        incoming=incoming,
        outgoing=outgoing,
        otherwise_in=max(incoming.values(), default=None),
        otherwise_out=max(outgoing.values(), default=None),
    )


def _per_second(deltas: Iterable[Mapping[int, int]], span_ms: int) -> dict[int, int]:
    sums: Counter[int] = Counter()
    for each in deltas:
        sums.update(each)
    return {broker: value * _MS // span_ms for broker, value in sums.items() if value}


def rates_of(state: ApplyState) -> Rates:
    """By broker the throttle or the observed rate, whichever is less."""
    seen = observed(state.samples)
    live = sorted(state.live)
    incoming = {
        b: _least(state.rates_in.get(b), seen.incoming.get(b, seen.otherwise_in)) for b in live
    }
    outgoing = {
        b: _least(state.rates_out.get(b), seen.outgoing.get(b, seen.otherwise_out)) for b in live
    }
    return Rates(
        incoming={b: rate for b, rate in incoming.items() if rate},
        outgoing={b: rate for b, rate in outgoing.items() if rate},
        otherwise_in=seen.otherwise_in,
        otherwise_out=seen.otherwise_out,
    )


def _least(throttle: int | None, observed: int | None) -> int | None:
    known = [each for each in (throttle, observed) if each is not None]
    return min(known, default=None)


def eta(left: Remaining, rates: Rates) -> Eta:
    """The slowest broker; not known where a broker has bytes to come and no known rate."""
    slowest = Eta(seconds=0, bound_by=None)
    for way, by_broker, known, otherwise in (
        ("incoming", left.incoming, rates.incoming, rates.otherwise_in),
        ("outgoing", left.outgoing, rates.outgoing, rates.otherwise_out),
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
    """When it will be over if each broker sends and takes in so many bytes per second."""
    return eta(left, Rates(incoming={}, outgoing={}, otherwise_in=rate, otherwise_out=rate))
