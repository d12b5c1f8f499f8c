"""The documents of `rackwise producer simulate` and `producer split`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from rackwise.core.json.codec import Codec
from rackwise.core.json.declare import MAX_INTEGER, Between
from rackwise.core.partitioner import cross_cost
from rackwise.core.partitioner.simulate.replay import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.cli.producer.options import CapacityName, ProducerInputs, SplitUpdate
    from rackwise.core.json.declare import Signed
    from rackwise.core.partitioner import (
        BoundPrice,
        ProducerScenario,
        SimulationResult,
        SplitAdvice,
    )

DIGITS = 6
"""Decimals of shares, factors and dollars."""

SignedUsd: TypeAlias = Annotated[float, Between(-MAX_INTEGER, MAX_INTEGER, "dollars")]

CODEC: Final = Codec(names={"Mode": Mode})
"""The codec of these documents, with the name of a mode that `core` declares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedTopicDocument:
    """A topic, with the bound and the price that its figures depend on."""

    topic: str
    """Name of the topic."""
    partitions: int
    """Number of its partitions."""
    weights: Mapping[str, int]
    """Rack -> leaders or brokers, as `capacity` says."""
    eps: float | None
    """Bound on a rack's load: 1 + eps times its even share; null for no bound."""
    capacity: Literal["leaders", "brokers"]
    """What is counted for the even share of a rack."""
    usd_per_gib: float
    """Price of a GiB that crosses racks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedModeDocument:
    """The simulation of one partitioner."""

    mode: Mode
    """Name of the partitioner."""
    local_share: float
    """Share of the free bytes that stay in their rack, from 0 to 1; 1 if there are none."""
    cross_bytes_per_s: float
    """Free bytes per second to other racks."""
    usd_per_30d: float
    """Dollars of these bytes in 30 days."""
    load_factor: float
    """The largest load of a rack, divided by the mean."""
    partition_load_factor: float
    """The largest load of a partition, divided by the mean."""
    rack_load_bytes_per_s: Mapping[str, float]
    """Leader rack -> bytes per second, including pinned bytes."""
    undelivered_bytes: int
    """Bytes without a response at the end, including bytes in flight."""
    windows: int
    """Windows of free bytes."""
    fallbacks: Mapping[str, int]
    """Reason of a fallback -> windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSimulationDocument(PricedTopicDocument):
    """What producers would send across racks with each partitioner."""

    format: Literal["rackwise.producer-simulation/1"] = "rackwise.producer-simulation/1"
    seed: Signed
    """Seed of the random numbers."""
    sticky_bytes: int
    """Bytes that are sent before another partition is chosen."""
    record_bytes: int
    """Size of a record in bytes."""
    duration_ms: float
    """Simulated time in milliseconds."""
    modes: tuple[SimulatedModeDocument, ...]
    """The simulated partitioners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitBoundDocument:
    """The effect and the cost of one bound on the load of racks."""

    kind: Literal["uniform", "kip", "bounded"]
    """The partitioner: `uniform` ignores racks, `kip` has no bound."""
    eps: float | None
    """The bound; null for `uniform` and `kip`."""
    local_share: float
    """Share of the free bytes that stay in their rack, from 0 to 1; 1 if there are none."""
    load_factor: float
    """The largest load of a rack, divided by the mean."""
    bytes_per_s_by_common_levels: tuple[float, ...]
    """At index n, free bytes per second whose two ends share n rack levels."""
    rack_load_bytes_per_s: Mapping[str, float]
    """Rack -> bytes per second, including pinned bytes."""
    shares: Mapping[str, Mapping[str, float]]
    """Client rack -> leader rack -> share of the client rack's free bytes."""
    overfull: tuple[str, ...]
    """Racks whose pinned bytes alone exceed the bound."""
    cross_bytes_per_s: float
    """Free bytes per second to other racks."""
    usd_per_30d: float
    """Dollars of these bytes in 30 days."""
    usd_saved: SignedUsd
    """Dollars in 30 days that the bound saves, compared with `uniform`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSplitDocument(PricedTopicDocument):
    """Bounds on the load of racks, with the locality and the cost of each."""

    format: Literal["rackwise.producer-split/1"] = "rackwise.producer-split/1"
    kip_load_factor: float
    """The load factor with KIP-1123, which has no bound."""
    least_eps: float
    """The smallest bound that a split can meet."""
    full_locality_eps: float
    """The smallest bound with the locality of no bound: `kip_load_factor` - 1, at least 0."""
    bounds: tuple[SplitBoundDocument, ...]
    """`uniform` first, then the bounds in ascending order."""
    racks_without_leaders: tuple[str, ...]
    """Racks with clients whose weight is 0."""
    advised_leaders: Mapping[str, int]
    """Rack -> advised number of leaders."""
    is_changed: bool | None
    """Whether `--out` had other content; null without `--out`."""
    largest_change: float | None
    """The largest change of a share in the file of `--out`; null if there was no file."""


def simulation_document(
    inputs: ProducerInputs,
    scenario: ProducerScenario,
    found: Sequence[SimulationResult],
    *,
    capacity: CapacityName,
    usd_per_gib: float,
    seed: int,
) -> ProducerSimulationDocument:
    """The simulation of all modes, with its options."""
    return ProducerSimulationDocument(
        topic=inputs.topic,
        partitions=len(inputs.view.leaders),
        weights=inputs.weights,
        eps=_finite(scenario.eps),
        capacity=capacity,
        usd_per_gib=usd_per_gib,
        seed=seed,
        sticky_bytes=scenario.sticky_bytes,
        record_bytes=scenario.record_bytes,
        duration_ms=scenario.duration_ms,
        modes=tuple(
            SimulatedModeDocument(
                mode=each.mode,
                local_share=round(each.local_share, DIGITS),
                cross_bytes_per_s=round(each.cross_bytes_per_s, DIGITS),
                usd_per_30d=round(
                    cross_cost(each.cross_bytes_per_s, usd_per_gib=usd_per_gib).usd_per_30d, DIGITS
                ),
                load_factor=round(each.load_factor, DIGITS),
                partition_load_factor=round(each.partition_load_factor, DIGITS),
                rack_load_bytes_per_s=_rounded(each.rack_load),
                undelivered_bytes=each.undelivered_bytes,
                windows=each.windows,
                fallbacks=each.fallbacks,
            )
            for each in found
        ),
    )


def split_document(
    inputs: ProducerInputs,
    advice: SplitAdvice,
    written: SplitUpdate | None,
    *,
    eps: float,
    capacity: CapacityName,
    usd_per_gib: float,
) -> ProducerSplitDocument:
    """All bounds, with the options of the command; `written`: None without `--out`."""
    return ProducerSplitDocument(
        topic=inputs.topic,
        partitions=len(inputs.view.leaders),
        weights=inputs.weights,
        eps=_finite(eps),
        capacity=capacity,
        usd_per_gib=usd_per_gib,
        kip_load_factor=round(advice.kip_load_factor, DIGITS),
        least_eps=round(advice.least_eps, DIGITS),
        full_locality_eps=round(advice.full_locality_eps, DIGITS),
        bounds=tuple(map(_bound_document, advice.bounds)),
        racks_without_leaders=advice.leaderless,
        advised_leaders=advice.leaders,
        is_changed=None if written is None else written.is_changed,
        largest_change=None if written is None else written.largest_change,
    )


def _bound_document(price: BoundPrice) -> SplitBoundDocument:
    return SplitBoundDocument(
        kind="uniform" if price.eps is None else "kip" if price.eps == math.inf else "bounded",
        eps=None if price.eps is None else _finite(price.eps),
        local_share=round(price.split.local_share, DIGITS),
        load_factor=round(price.split.load_factor, DIGITS),
        bytes_per_s_by_common_levels=tuple(
            round(each, DIGITS) for each in price.split.bytes_by_common_levels
        ),
        rack_load_bytes_per_s=_rounded(price.split.rack_load),
        shares={client: _rounded(row) for client, row in price.split.shares.items()},
        overfull=price.split.overfull,
        cross_bytes_per_s=round(price.cost.bytes_per_s, DIGITS),
        usd_per_30d=round(price.cost.usd_per_30d, DIGITS),
        usd_saved=round(price.usd_saved, DIGITS),
    )


def _finite(value: float) -> float | None:
    """None for infinity, which JSON does not have."""
    return None if math.isinf(value) else value


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, DIGITS) for name, value in values.items()}
