"""What groups would read and pay with Kafka's own assignors on the broker (KIP-848)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.cli.consumer.groups import EvaluatedGroup
    from rackwise.cli.shell import Shell
    from rackwise.core.assignors import ServerOutcome, Target
    from rackwise.core.model import Cluster
    from rackwise.core.savings.read_cost import ReadCost, ReadPricing


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedOutcome:
    """What one assignor on the broker would give, and what more its reads would cost."""

    outcome: ServerOutcome
    extra: ReadCost
    """More than today, in 30 days; below 0 if less."""


def read_pricing(
    shell: Shell,
    cluster: Cluster,
    *,
    provider: str | None,
    prices: Path | None,
    levels: str | None,
    target: Target,
) -> ReadPricing:
    """What prices the reads of groups. Raises `InvalidConfig` and `InvalidPrices`."""
    from datetime import date

    from rackwise.cli.source import parse_levels, read_provider_prices
    from rackwise.core.errors import InvalidPrices
    from rackwise.core.savings.read_cost import ReadPricing
    from rackwise.core.savings.tariff import Tariff
    from rackwise.core.traffic import named_levels

    names = parse_levels(levels)
    if provider is None and (prices is not None or names):
        raise InvalidPrices(
            f"{'--levels' if prices is None else '--prices'} requires --provider",
            wanted="--provider NAME",
            hint="for example --provider aws",
        )
    tariff = None
    if provider is not None:
        # A rack of another form names no level; reads from it have no known cost.
        racks = [
            broker.rack
            for broker in cluster.brokers
            if broker.rack is not None and broker.rack.is_sound
        ]
        depth = max((len(rack.levels) for rack in racks), default=1)
        tariff = Tariff(
            read_provider_prices(shell, prices, provider),
            named_levels(depth, names),
            [rack.text for rack in racks],
        )
    return ReadPricing(tariff=tariff, day=date.fromisoformat(cluster.taken_at[:10]), target=target)


def server_outlook(group: EvaluatedGroup, pricing: ReadPricing) -> tuple[PricedOutcome, ...]:
    """The outcome of each of Kafka's own assignors on the broker. Raises `InvalidPrices`.

    There is none for a share or streams group, which has an assignor of its own.
    """
    from rackwise.core.assignors import WITHOUT_CHOICE, present_readers, server_outcomes

    if group.described.group.protocol in WITHOUT_CHOICE:
        return ()
    assignment, members = group.described.assignment, group.described.members
    racks, weights = group.racks, group.weights
    today = pricing.cost(present_readers(assignment, racks), members, racks, weights)
    outcomes = server_outcomes(assignment, members, racks, target=pricing.target, weights=weights)
    return tuple(
        PricedOutcome(
            outcome=each,
            extra=pricing.cost(each.readers, members, racks, weights).minus(today),
        )
        for each in outcomes
    )
