"""Splitting bytes over racks: `python tests/bench/bench_split.py`.

30 racks of 3 levels, half of them with clients, some bytes pinned. Pair: `split_by_balance` / the
same as a linear program, built and solved by ortools' GLOP. Both must find the same crossing, which
is checked before anything is timed.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from pathlib import Path

from pairs import compare

from rackwise.core.partitioner.split.rates import RackRates
from rackwise.core.partitioner.split.split import split_by_balance

sys.path[:0] = [str(Path(__file__).parents[1])]

RACKS = [f"/region-{n % 2}/zone-{n % 6}/row-{n}" for n in range(30)]
EPS = 0.1
PRICES = (3.0, 2.0, 1.0, 0.0)
"""Of a byte whose two ends share 0, 1, 2, 3 levels."""
CLOSE = 1e-9


def main() -> None:
    """Print the ratio."""
    from linear_split import least_crossing

    rng = random.Random(7)
    free = {rack: rng.random() * (n % 2) for n, rack in enumerate(RACKS)}
    pinned = {rack: rng.random() / 4 for rack in RACKS}
    rates, weights = RackRates(free, pinned), dict.fromkeys(RACKS, 4.0)
    ours = partial(split_by_balance, rates, weights, EPS)
    peer = partial(least_crossing, rates, weights, EPS, PRICES)
    found = sum(p * b for p, b in zip(PRICES, ours().bytes_by_common_levels, strict=True))
    if abs(found - peer()) > CLOSE * sum(free.values()):
        raise SystemExit("the split and the linear program differ")
    compare("split_by_balance / linear program, 30 racks of 3 levels", ours, peer, gate=0.5)


if __name__ == "__main__":
    main()
