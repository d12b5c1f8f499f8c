"""`analyze` on one worker and on two: `python tests/bench/bench_workers.py [FLOWS]`.

Pairs: wall time of `analyze` of VPC flow logs in Parquet on a standalone cluster of Spark with two
workers of one core each / with one; the same less the wall times of `analyze` of 1,000 flows, which
is what two workers can divide. The driver is a process of its own. Both summaries must be equal,
but for the seconds. Wants at least three idle cores for a fair figure: the driver, too, needs one
for a part of the run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_analyze import FEW, LEVELS, RACKWISE, generate
from pairs import tell

sys.path.insert(0, str(Path(__file__).parents[1]))

from rackwise.pipeline.runtime.java import find_java
from spark_clusters import SparkCluster

FLOWS = 20_000_000
GATE = 0.6
WORKERS = (1, 2)


def analyzed(fleet: Path, workers: int) -> tuple[float, dict]:
    """Seconds of `analyze` on so many workers, and its summary."""
    out = fleet / f"out-{workers}"
    java_home = find_java(os.environ).home
    with SparkCluster(
        ("az1",) * workers, java_home=java_home, folder=fleet / f"spark-{workers}"
    ) as cluster:
        command = [RACKWISE, "analyze", str(fleet / "snapshots"), "--flows", str(fleet / "flows")]
        command += ["--subnets", str(fleet / "subnets.csv"), "--provider", "aws"]
        command += ["--levels", LEVELS, "--no-plans", "--out", str(out)]
        command += ["--master", cluster.master]
        command += [f"--conf={key}={value}" for key, value in cluster.conf.items()]
        began = time.perf_counter()
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        took = time.perf_counter() - began
    if done.returncode not in {0, 2}:
        raise SystemExit(done.stderr[-2000:])
    return took, json.JSONDecoder().decode((out / "summary.json").read_text())


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else FLOWS
    with tempfile.TemporaryDirectory() as home:
        many, few = generate(Path(home, "many"), count), generate(Path(home, "few"), FEW)
        (one_s, one), (two_s, two) = (analyzed(many, workers) for workers in WORKERS)
        (one_few_s, _), (two_few_s, _) = (analyzed(few, workers) for workers in WORKERS)
        if one["by_pair"] != two["by_pair"] or one["verdict"] != two["verdict"]:
            raise SystemExit("the two bills differ")
    print(
        f"one worker: {count} flows {one_s:.1f} s, {FEW} {one_few_s:.1f} s; "
        f"two: {two_s:.1f} s, {two_few_s:.1f} s",
        file=sys.stderr,
    )
    pair = f"analyze of {count:,} flows, wall: two workers of one core / one"
    tell(pair, two_s / one_s, gate=GATE)
    tell(f"{pair}, each less {FEW:,}", (two_s - two_few_s) / (one_s - one_few_s), gate=None)
