"""Placing a million partitions on levels of racks: `python tests/bench/bench_levels.py`.

Pairs: levels / kip36 on 300 brokers in 3 racks; peak memory of levels / bytes of its rows. The rows
are checked before anything is timed.
"""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
from pairs import compare, tell

from rackwise import Broker, Kip36, Levels, Rack
from rackwise.core.placement import Request

PARTITIONS, BROKERS, RACKS, REPLICATION = 1_000_000, 300, 3, 3
LEVELS, KIP36 = Levels(), Kip36(start=0)
REQUEST = Request(
    brokers=tuple(Broker(id=i, rack=Rack("abc"[i % RACKS])) for i in range(BROKERS)),
    partitions=PARTITIONS,
    replication=REPLICATION,
)


def look(rows: np.ndarray) -> None:
    """Raise if rows repeat a rack, or if brokers hold or lead more than their part."""
    racks = np.sort(rows % RACKS, axis=1)
    if (racks[:, 1:] == racks[:, :-1]).any():
        raise SystemExit("levels repeats a rack")
    for counts in (np.bincount(rows.ravel()), np.bincount(rows[:, 0])):
        if counts.max() - counts.min() > 1:
            raise SystemExit("levels is not even")


def compare_memory() -> None:
    """The peak of all allocated memory, the rows included."""
    tracemalloc.start()
    rows = LEVELS.place(REQUEST)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    tell("levels, peak memory / bytes of the rows", peak / rows.nbytes, gate=12)


if __name__ == "__main__":
    look(LEVELS.place(REQUEST))
    compare(
        f"levels / kip36, {BROKERS} brokers in {RACKS} racks, 1,000,000 partitions",
        partial(LEVELS.place, REQUEST),
        partial(KIP36.place, REQUEST),
        gate=30,
    )
    compare_memory()
