"""A pair: two ways of doing the same, interleaved in one run, compared by their ratio.

Machines differ and are shared; ratios within one run are comparable. Seconds are never a gate.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7


def seconds(work: Callable[[], object]) -> float:
    """Seconds of one call, with the collector off."""
    gc.collect()
    gc.disable()
    started = time.perf_counter()
    try:
        work()
    finally:
        taken = time.perf_counter() - started
        gc.enable()
    return taken


def compare(
    pair: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    gate: float,
    rounds: int = ROUNDS,
) -> None:
    """Print one JSON line: the median ratio of ours to the peer over interleaved rounds."""
    ours(), peer()
    ratios = [seconds(ours) / seconds(peer) for _ in range(rounds)]
    tell(pair, statistics.median(ratios), gate=gate)


def tell(pair: str, ratio: float, *, gate: float | None) -> None:
    """Print one result line, which `run.py` collects. A line without a gate is a yardstick."""
    is_ok = gate is None or ratio <= gate
    line = {"pair": pair, "ratio": round(ratio, 3), "gate": gate, "ok": is_ok}
    print(json.dumps(line), flush=True)
