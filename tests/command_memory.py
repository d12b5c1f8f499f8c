"""Peak memory of commands on generated snapshots, carried forward to 1,600,000 partitions."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner_vectors import generated_cluster
from rackwise.adapters.files import write_snapshot

if TYPE_CHECKING:
    from pathlib import Path

FULL_SIZE, MOST_BYTES = 1_600_000, 2_500_000_000
"""Partitions, and the memory that a command may take for them."""
COMMANDS = (("what-if", "--lose", "/r2"), ("plan", "repair"))
KEPT_BLOCK = 32 << 20
"""glibc keeps freed blocks up to this size; with arrays of a smaller size, smaller ones."""

_COMMAND = """
import sys
from pathlib import Path
from rackwise.cli import main
try:
    main()
except SystemExit as end:
    assert end.code in {0, 2}, end.code
    # `getrusage` would start with the peak of the parent.
    lines = Path("/proc/self/status").read_text().splitlines()
    (most,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    print(most, file=sys.stderr)
"""


def bytes_at_full_size(words: tuple[str, ...], sizes: tuple[int, int], folder: Path) -> float:
    """Peak bytes of `rackwise` with these words, by the partition between two sizes."""
    small, large = (_peak_bytes(words, partitions, folder) for partitions in sizes)
    return large + (large - small) / (sizes[1] - sizes[0]) * (FULL_SIZE - sizes[1])


def _peak_bytes(words: tuple[str, ...], partitions: int, folder: Path) -> int:
    snapshot = folder / f"{partitions}.json"
    cluster = generated_cluster("random", 300, 3, partitions, 3)
    # Every partition has another size, so that no two of them are alike to the search.
    sizes = np.arange(partitions, dtype=np.int64) * 7919 + 10**6
    write_snapshot(replace(cluster, partitions=replace(cluster.partitions, bytes=sizes)), snapshot)
    kept = KEPT_BLOCK * partitions // FULL_SIZE
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, *words, "--snapshot", snapshot],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "MALLOC_MMAP_THRESHOLD_": str(kept),
            "MALLOC_TRIM_THRESHOLD_": str(2 * kept),
        },
    )
    return int(done.stderr.splitlines()[-1]) * 1024
