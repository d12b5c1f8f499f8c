"""Placing a million partitions: `python tests/bench/bench_place.py`.

Pairs, 300 brokers in 3 racks: kip36 / unaware with as many replicas as racks and with more; kip36 /
the same rule partition by partition; striped / its draws alone; the check of foreign rows / kip36;
peak memory / bytes of the rows; kip36 / Kafka's own AdminUtils in a warm JVM, left out with
KAFKA=0. Rows are compared before anything is timed.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import tracemalloc
from dataclasses import replace
from functools import partial
from pathlib import Path

from pairs import ROUNDS, compare, seconds, tell

from rackwise import Broker, Kip36, Placement, Rack
from rackwise.core.placement import JavaRandom, Placer, Request, Striped, Unaware
from rackwise.core.placement.checks import check_rows

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "oracle")]

PARTITIONS, BROKERS, RACKS, REPLICATION = 1_000_000, 300, 3, 3
SCALAR_PARTITIONS = 100_000
WARM_UP = 5
JVM_S = 300.0
KIP36, UNAWARE = Kip36(start=0), Unaware(start=0)
REQUEST = Request(
    brokers=tuple(Broker(id=i, rack=Rack("abc"[i % RACKS])) for i in range(BROKERS)),
    partitions=PARTITIONS,
    replication=REPLICATION,
)


class Counted:
    """Records draws and their bounds."""

    def __init__(self, seed: int) -> None:
        self.stops: list[int] = []
        self._rng = JavaRandom(seed)

    def randrange(self, stop: int, /) -> int:
        """The next draw."""
        self.stops.append(stop)
        return self._rng.randrange(stop)


def draw(stops: list[int]) -> None:
    """The draws alone."""
    rng = JavaRandom(1)
    for stop in stops:
        rng.randrange(stop)


def compare_racks() -> None:
    """What racks cost the rule of Kafka."""
    for replication, gate in ((REPLICATION, 3), (2 * RACKS, 8)):
        request = replace(REQUEST, replication=replication)
        compare(
            f"kip36 / unaware, {replication} replicas in {RACKS} racks, 1,000,000 partitions",
            partial(KIP36.place, request),
            partial(UNAWARE.place, request),
            gate=gate,
        )


def compare_scalar() -> None:
    """Arrays against a loop."""
    from naive_kip36 import naive_kip36

    request = replace(REQUEST, partitions=SCALAR_PARTITIONS)
    racks = ["abc"[i % RACKS] for i in range(BROKERS)]
    scalar = partial(naive_kip36, range(BROKERS), racks, SCALAR_PARTITIONS, REPLICATION, start=0)
    if KIP36.place(request).tolist() != scalar():
        raise SystemExit("kip36 and the rule partition by partition differ")
    compare(
        "kip36 / the rule partition by partition, 100,000 partitions",
        partial(KIP36.place, request),
        scalar,
        gate=0.2,
        rounds=3,
    )


def compare_striped() -> None:
    """All of striped against its draws."""
    counted = Counted(1)
    Striped().place(replace(REQUEST, rng=counted))
    compare(
        "striped / its draws alone, 1,000,000 partitions",
        lambda: Striped().place(replace(REQUEST, rng=JavaRandom(1))),
        partial(draw, counted.stops),
        gate=8,
        rounds=3,
    )


def compare_check() -> None:
    """The check of rows from elsewhere."""
    rows = KIP36.place(REQUEST)
    compare(
        "check of a stranger's rows / kip36, 1,000,000 partitions",
        partial(check_rows, "stranger", rows, REQUEST),
        partial(KIP36.place, REQUEST),
        gate=3,
    )


def compare_memory(placer: Placer, gate: float) -> None:
    """Peak of allocated memory while rows are made."""
    tracemalloc.start()
    placement = Placement(rows=placer.place(REQUEST))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    pair = f"peak memory of {placer.name} / bytes of its rows, 1,000,000 partitions"
    tell(pair, peak / placement.rows.nbytes, gate=gate)


def compare_upstream() -> None:
    """The same request in Java and here, in turn."""
    from golden import upstream

    case = {
        "brokers": [[broker.id, broker.rack.text] for broker in REQUEST.brokers if broker.rack],
        "partitions": PARTITIONS,
        "replication": REPLICATION,
        "start": 0,
        "first_partition": 0,
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        upstream(Path(folder), "3.9.2", heap="3g") as oracle,
    ):
        few = oracle.ask("place.kip36", case | {"partitions": SCALAR_PARTITIONS}, within_s=JVM_S)
        if few["rows"] != KIP36.place(REQUEST)[:SCALAR_PARTITIONS].tolist():
            raise SystemExit("kip36 and AdminUtils differ")
        oracle.ask("time.kip36", case | {"rounds": WARM_UP}, within_s=JVM_S)
        times = []
        for _ in range(ROUNDS):
            ours = seconds(partial(KIP36.place, REQUEST))
            java = oracle.ask("time.kip36", case | {"rounds": 1}, within_s=JVM_S)["ns"][0] / 1e9
            times.append((ours, java))
    ours, java = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{ours:.3f} s, AdminUtils {java:.3f} s", file=sys.stderr)
    ratio = statistics.median(ours / java for ours, java in times)
    tell("kip36 / AdminUtils in a warm JVM, 1,000,000 partitions", ratio, gate=0.1)


if __name__ == "__main__":
    compare_racks()
    compare_scalar()
    compare_striped()
    compare_check()
    compare_memory(KIP36, gate=3)
    if os.environ.get("KAFKA") == "0":
        print("left out: kip36 / AdminUtils (KAFKA=0)", file=sys.stderr)
    else:
        compare_upstream()
