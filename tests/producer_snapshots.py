"""Snapshots and rates files for `rackwise producer`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rack_splits import rates as rates_of_texts
from rackwise.adapters.files import rack_rates_text, write_snapshot
from refusals import called
from small_clusters import small_cluster

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.core.model import Cluster

AZ = ("use1-az1", "use1-az2", "use1-az3")
MIB = 2**20


def three_racks(partitions: int = 12, **known) -> Cluster:
    """Six brokers, two in each of three racks; `orders` with as many leaders on each."""
    racks = {id_: AZ[(id_ - 1) % 3] for id_ in range(1, 7)}
    lists = {f"orders-{number}": [number % 6 + 1] for number in range(partitions)}
    return small_cluster(known.pop("racks", racks), lists, **known)


def rates_text(free: str = "", pinned: str = "", topic: str = "orders") -> str:
    """A rates file, from `use1-az1 1  use1-az2 1`."""
    return rack_rates_text(topic, rates_of_texts(free, pinned), made_at_ms=7)


PROGRESS = re.compile(r"windows: [0-9]+/")
UNEVEN = f"{AZ[0]} {MIB} {AZ[1]} {MIB} {AZ[2]} 0"
"""Two racks send, the third does not."""

TWO_FORMS = {id_: AZ[(id_ - 1) % 3] for id_ in range(1, 7)} | {1: f"/us/{AZ[0]}"}
"""Racks of brokers in a rolling restart to paths that has come to the first broker."""
WARNED = (
    f"warning: /us/{AZ[0]}: of another form than the other racks, so no level is shared with them; "
    "Kafka compares racks as texts\n"
)


def written(folder: Path, cluster: Cluster, text: str) -> list[str]:
    """The options that name both files."""
    snapshot, rates = folder / "s.json.gz", folder / "r.json"
    write_snapshot(cluster, snapshot)
    rates.write_text(text)
    return ["--snapshot", str(snapshot), "--rates", str(rates)]


def said(folder: Path, verb: str, cluster: Cluster, text: str, *options: str):
    """Exit code, stdout and stderr of `rackwise producer`, without progress lines."""
    code, out, err = called("producer", verb, *written(folder, cluster, text), *options)
    lines = err.splitlines(keepends=True)
    return code, out, "".join(line for line in lines if not PROGRESS.match(line))
