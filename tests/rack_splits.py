"""Producers' golden vectors of splits; rates and weights from short texts, and as strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from producer_vectors import producer_vectors
from rackwise.core.partitioner.split.rates import RackRates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

CLOSE = 1e-6
"""To this the vectors are rounded."""


def split_vectors(section: str) -> list[dict[str, Any]]:
    """The cases of one list of `golden/vectors-producer.json`."""
    cases: list[dict[str, Any]] = producer_vectors()[section]
    return cases


def racks_of(case: Mapping[str, Any]) -> list[str]:
    """The racks of a vector; `rack-0`, `rack-1`.. if it names none."""
    numbers = range(len(case["weights"]))
    return case.get("racks") or [f"rack-{number}" for number in numbers]


def by_rack(racks: Iterable[str], values: Iterable[float]) -> dict[str, float]:
    """Rack -> value."""
    return dict(zip(racks, values, strict=True))


def rates_of(case: Mapping[str, Any]) -> RackRates:
    """The rates of a vector."""
    racks = racks_of(case)
    return RackRates(
        by_rack(racks, case["rates"]), by_rack(racks, case.get("pinned", [0] * len(racks)))
    )


def weights_of(case: Mapping[str, Any]) -> dict[str, float]:
    """The weights of a vector."""
    return by_rack(racks_of(case), case["weights"])


def rates(free: str, pinned: str = "") -> RackRates:
    """Rates from `a 1  b 2`."""
    return RackRates(numbers(free), numbers(pinned))


def numbers(text: str) -> dict[str, float]:
    """Numbers by rack from `a 1  b 2`."""
    words: Sequence[str] = text.split()
    return {rack: float(value) for rack, value in zip(words[::2], words[1::2], strict=True)}


@st.composite
def rack_rates(draw: st.DrawFn, *, most: int = 8) -> tuple[RackRates, Mapping[str, float]]:
    """Rates of producers and weights of leaders' racks: one to three levels, many zeros.

    Some clients are in racks without leaders; pinned bytes are only in racks with one.
    """
    depth = draw(st.integers(1, 3))
    names = st.lists(st.sampled_from("abc"), min_size=depth, max_size=depth).map("/".join)
    paths = draw(st.lists(names, min_size=1, max_size=most, unique=True))
    racks = [f"/{path}" if depth > 1 else path for path in paths]
    amounts = st.integers(0, 5) | st.floats(0, 100, width=32)
    weights = {rack: float(draw(st.integers(0, 4))) for rack in racks}
    weights[draw(st.sampled_from(racks))] += 1
    leading = [rack for rack in racks if weights[rack]]
    free = {rack: float(draw(amounts)) for rack in racks if draw(st.integers(0, 3))}
    pinned = {rack: float(draw(amounts)) for rack in leading if not draw(st.integers(0, 2))}
    return RackRates(free, pinned), weights
