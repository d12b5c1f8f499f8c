"""The report of a fleet: `python tests/bench/bench_report.py`.

No pairs but limits: `rackwise report` on the summary of 200 clusters, in its own process: seconds
of CPU (the machine may be shared), bytes of the page, and bytes of memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pairs import tell

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from summaries import summary

from rackwise.adapters import files

CLUSTERS, ROUNDS = 200, 3
FLEET = {"racks": ("/eu/a", "/eu/b", "/us/a"), "levels": ("region", "zone"), "topics": 2}
SECONDS, MB, PAGE_MB, MEMORY_MB = 2, 10**6, 5, 200
NAMED = f"report of {CLUSTERS} clusters"


def rendered(out: Path) -> tuple[float, int]:
    """CPU seconds of one start of the command, and its peak memory in bytes."""
    command = [sys.executable, "-m", "rackwise.cli", "--quiet", "report", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"rackwise report ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        document = summary(clusters=CLUSTERS, days=2, **FLEET)
        files.publish(
            out,
            run_id=document["run_id"],
            files={"summary.json": json.dumps(document).encode()},
            tables="tables/runs/none",
        )
        taken, largest = (
            min(column) for column in zip(*(rendered(out) for _ in range(ROUNDS)), strict=True)
        )
        size = (out / "report.html").stat().st_size
    tell(f"{NAMED}, seconds of a processor", taken, gate=SECONDS)
    tell(f"{NAMED}, MB of the page", size / MB, gate=PAGE_MB)
    tell(f"{NAMED}, MB of memory", largest / MB, gate=MEMORY_MB)
