"""A split crosses racks as little as a linear program allows."""

import random

import pytest

from linear_split import least_crossing
from rackwise.core.partitioner.split.rates import RackRates
from rackwise.core.partitioner.split.split import split_by_balance

CASES = 600
SHARDS = 6
CLOSE = 1e-9


def drawn(rng, depth, has_pinned):
    """Some racks of a tree, also racks with clients only and racks with leaders only."""
    racks = sorted({"/".join(rng.choices("abc", k=depth)) for _ in range(rng.randint(2, 9))})
    racks = [f"/{rack}" for rack in racks]
    weights = {rack: float(rng.choice([0, 1, 1, 2, 5])) for rack in racks}
    weights[rng.choice(racks)] += 1
    free = {rack: rng.choice([0.0, 1.0, rng.random() * 10]) for rack in racks}
    free[rng.choice(racks)] += 1
    leading = [rack for rack in racks if weights[rack]]
    pinned = {rack: rng.choice([0.0, rng.random() * 10]) for rack in leading if has_pinned}
    return RackRates(free, pinned), weights


@pytest.mark.parametrize("shard", range(SHARDS))
def test_linear_program_finds_no_better_split(shard):
    rng = random.Random(shard)
    for number in range(CASES // SHARDS):
        depth = 1 + number % 3
        rates, weights = drawn(rng, depth, has_pinned=number % 2 == 1)
        eps = rng.choice([0, 0.05, 0.1, 0.5, 2])
        prices = [*sorted((rng.random() for _ in range(depth)), reverse=True), 0.0]
        found = split_by_balance(rates, weights, eps).bytes_by_common_levels
        ours = sum(price * crossing for price, crossing in zip(prices, found, strict=True))
        best = least_crossing(rates, weights, eps, prices)
        assert ours == pytest.approx(best, abs=CLOSE * sum(found)), (rates, weights, eps, prices)
