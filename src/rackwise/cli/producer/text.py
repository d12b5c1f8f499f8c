"""Output of `rackwise producer` as text for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rackwise.cli.tables import columns_text
from rackwise.core.partitioner import cross_cost
from rackwise.core.text import counted, escaped
from rackwise.report.formats import bytes_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.cli.producer.options import ProducerInputs
    from rackwise.core.partitioner import (
        BoundPrice,
        ProducerScenario,
        SimulationResult,
        SplitAdvice,
    )


def simulation_text(
    inputs: ProducerInputs,
    scenario: ProducerScenario,
    found: Sequence[SimulationResult],
    *,
    usd_per_gib: float,
) -> str:
    """Format the topic and a row per mode. A factor is the largest load / the mean."""
    rates = scenario.rates
    title = (
        f"{_title(inputs)}  {_rate(math.fsum(rates.free.values()))} free, "
        f"{_rate(math.fsum(rates.pinned.values()))} pinned  {scenario.duration_ms / 1000:g} s"
    )
    rows = [
        (
            each.mode,
            _percent(each.local_share),
            f"{each.load_factor:.3f}",
            f"{each.partition_load_factor:.3f}",
            _rate(each.cross_bytes_per_s),
            _usd(cross_cost(each.cross_bytes_per_s, usd_per_gib=usd_per_gib).usd_per_30d),
            bytes_text(each.undelivered_bytes),
        )
        for each in found
    ]
    header = (
        "mode",
        "local",
        "rack factor",
        "partition factor",
        "cross",
        "USD in 30 d",
        "undelivered",
    )
    table = columns_text(header, rows, numbers=range(1, 7))
    return f"{title}\n{table}"


def split_text(
    inputs: ProducerInputs, advice: SplitAdvice, eps: float, part: str, usd_per_gib: float
) -> str:
    """Format the effect of each bound, and the clients and leaders of each rack."""
    factors = [
        f"load factor under KIP-1123  {advice.kip_load_factor:.3f}",
        f"least eps                   {advice.least_eps:.3f}",
        f"full locality at eps        {advice.full_locality_eps:.3f}",
    ]
    rows = [
        (
            _bound(price),
            _percent(price.split.local_share),
            f"{price.split.load_factor:.3f}",
            _rate(price.cost.bytes_per_s),
            _usd(price.cost.usd_per_30d),
            _usd(price.usd_saved),
            "<- --eps" if price.eps == eps else "",
        )
        for price in advice.bounds
    ]
    header = ("eps", "local", "rack factor", "cross", "USD in 30 d", "saved", "")
    bounds = columns_text(header, rows, numbers=range(1, 6))
    title = f"{_title(inputs)}  {part}, {usd_per_gib:g} USD per GiB that crosses"
    overfull = _overfull(advice, eps)
    return "\n".join([title, *factors, bounds, _racks(inputs, advice), *overfull])


def _racks(inputs: ProducerInputs, advice: SplitAdvice) -> str:
    rates = inputs.rates.rates
    rows = [
        (
            escaped(rack),
            _rate(rates.free.get(rack, 0.0)),
            _rate(rates.pinned.get(rack, 0.0)),
            str(inputs.weights.get(rack, 0)),
            str(advice.leaders[rack]) if rack in advice.leaders else "-",
            "clients and no leader" if rack in advice.leaderless else "",
        )
        for rack in sorted({*rates.free, *rates.pinned, *inputs.weights})
    ]
    header = ("rack", "free", "pinned", "weight", "leaders to have", "")
    return columns_text(header, rows, numbers=range(1, 5))


def _overfull(advice: SplitAdvice, eps: float) -> list[str]:
    return [
        f"{escaped(rack)}: its pinned traffic exceeds the bound"
        for rack in advice.at(eps).split.overfull
    ]


def _title(inputs: ProducerInputs) -> str:
    return f"{escaped(inputs.topic)}  {counted(len(inputs.view.leaders), 'partition')}"


def _bound(price: BoundPrice) -> str:
    if price.eps is None:
        return "rack-blind"
    return "no bound" if price.eps == math.inf else f"{price.eps:g}"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _rate(bytes_per_s: float) -> str:
    return f"{bytes_text(round(bytes_per_s))}/s"


def _usd(usd: float) -> str:
    return f"{usd:,.2f}"
