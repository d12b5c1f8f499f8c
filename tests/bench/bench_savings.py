"""Savings of one cluster: `python tests/bench/bench_savings.py [ROWS]`.

Pairs, each in a process of its own that has read the same Arrow file:

```
savings, from Arrow to the rows of the result / the same columns as Python lists, CPU seconds
savings, from Arrow to the rows of the result / 15 CPU seconds
most memory of the process of the savings / 500 MB
```

The rows are those of 200 topics with 12 partitions, 30 groups and 13 days in 3 racks; a part of the
topics, groups and racks is unknown. This is the work of one Spark task, without Spark.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from pairs import tell
from pyarrow import feather

from rackwise.core.model import Broker, Cluster, Group, GroupMember, Partition, PartitionTable
from rackwise.core.racks import Rack
from rackwise.core.traffic import Price
from rackwise.pipeline.bill.savings import FLOW, SavingOptions, savings_table
from rackwise.pipeline.fleet.layouts import layout_table

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS = 1_000_000
GATE, CPU_S, MOST_MB = 8, 15, 500
RACKS = ("/eu/a", "/eu/b", "/eu/c")
TOPICS, PARTITIONS, BROKERS, GROUPS, MEMBERS, DAYS = 200, 12, 30, 30, 12, 13
UNKNOWN, UNKNOWN_SHARE = "(unknown)", 0.02
MIB = 1024
"""KiB of a MiB; `ru_maxrss` is in KiB."""
FIRST_DAY = date(2026, 11, 1)


class Snapshot(NamedTuple):
    """A cluster and its name, as `layout_table` wants them."""

    name: str
    cluster: Cluster


def topics() -> list[str]:
    """Names of topics."""
    return [f"topic-{number:03}" for number in range(TOPICS)]


def snapshot() -> Snapshot:
    """Each partition has one replica in each rack; each group reads every topic."""
    racks = {id_: Rack(RACKS[id_ % 3]) for id_ in range(BROKERS)}
    lists = [tuple((row + step) % BROKERS for step in range(3)) for row in range(PARTITIONS)]
    every = tuple(topics())
    return Snapshot(
        "bench",
        Cluster(
            cluster_id="bench",
            taken_at="2026-11-01T00:00:00Z",
            brokers=tuple(Broker(id=id_, rack=rack) for id_, rack in racks.items()),
            topics={},
            partitions=PartitionTable.of(
                Partition(topic=topic, partition=number, replicas=ids, leader=ids[0], isr=ids)
                for topic in every
                for number, ids in enumerate(lists)
            ),
            groups=tuple(
                Group(
                    group=f"group-{number:02}",
                    protocol="classic",
                    members=tuple(
                        GroupMember(
                            member_id=f"m{each}", client_id="", rack=racks[each], topics=every
                        )
                        for each in range(MEMBERS)
                    ),
                )
                for number in range(GROUPS)
            ),
        ),
    )


def chosen(
    rng: np.random.Generator, names: Sequence[object], rows: int, *, unknown: bool = False
) -> np.ndarray:
    """One of the names for each row, some of them unknown."""
    column = np.array([*names, UNKNOWN], dtype=object)[rng.integers(0, len(names), rows)]
    if unknown:
        column[rng.random(rows) < UNKNOWN_SHARE] = UNKNOWN
    return column


def cross_rack(rows: int) -> pa.Table:
    """Rows of the bill with the columns that savings need."""
    rng = np.random.Generator(np.random.PCG64(7))
    groups = [f"group-{number:02}" for number in range(GROUPS)]
    kinds = ("fetch", "fetch", "fetch", "produce", "replicate")
    days = [FIRST_DAY + timedelta(days=number) for number in range(DAYS)]
    columns = {
        "day": pa.array(np.array(days, dtype="datetime64[D]")[rng.integers(0, DAYS, rows)]),
        "kind": chosen(rng, kinds, rows),
        "topic": chosen(rng, topics(), rows, unknown=True),
        "client_group": chosen(rng, groups, rows, unknown=True),
        "quality": chosen(rng, ("measured", "apportioned"), rows),
        "from_rack": chosen(rng, RACKS, rows, unknown=True),
        "to_rack": chosen(rng, RACKS, rows, unknown=True),
        "bytes": rng.lognormal(20, 2, rows).astype(np.int64),
    }
    return pa.table({name: columns[name] for name in FLOW})


def price() -> Price:
    """A cent each way per GiB between zones."""
    return Price(
        provider="aws",
        region="*",
        level="zone",
        kind="*",
        nano_usd_per_gb_out=10_000_000,
        nano_usd_per_gb_in=10_000_000,
        gb_bytes=2**30,
        valid_from=FIRST_DAY,
        valid_to=None,
        source="bench",
        is_checked=False,
        row="bench",
    )


def work(which: str, folder: Path) -> None:
    """Do one side of the pair; print its CPU seconds, and the most MB of the process."""
    left = feather.read_table(folder / "left.arrow", memory_map=False)
    right = feather.read_table(folder / "right.arrow", memory_map=False)
    started = time.process_time()
    if which == "lists":
        left.to_pydict()
    else:
        options = SavingOptions(
            prices=(price(),),
            levels=("region", "zone"),
            seconds=DAYS * 86_400,
            eps=(0.0, 0.05, 0.1, 0.2, float("inf")),
            racks=RACKS,
        )
        savings_table(left, right, options)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
    print(time.process_time() - started, most)


def measured(which: str, folder: str) -> tuple[float, float]:
    """The work in a new process: CPU seconds, and the most MB."""
    command = [sys.executable, __file__, which, folder]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    cpu_s, most = map(float, done.stdout.split())
    return cpu_s, most


def main(rows: int) -> None:
    """Write the inputs, then measure each side."""
    with tempfile.TemporaryDirectory() as folder:
        feather.write_feather(cross_rack(rows), f"{folder}/left.arrow", compression="uncompressed")
        layout = layout_table([snapshot()], lambda _cluster, _group, member: member.rack)
        feather.write_feather(layout, f"{folder}/right.arrow", compression="uncompressed")
        floor, _ = measured("lists", folder)
        ours, most = measured("savings", folder)
    print(f"CPU s: savings {ours:.1f}, lists {floor:.1f}; {most:.0f} MB", file=sys.stderr)
    name = f"savings of {rows:,} rows of cross_rack"
    tell(f"{name} / the same columns as Python lists, CPU seconds", ours / floor, gate=GATE)
    tell(f"{name} / {CPU_S} CPU seconds", ours / CPU_S, gate=1)
    tell(f"{name}, most memory of the process / {MOST_MB} MB", most / MOST_MB, gate=1)


if __name__ == "__main__":
    if sys.argv[1:2] in (["lists"], ["savings"]):
        work(sys.argv[1], Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
