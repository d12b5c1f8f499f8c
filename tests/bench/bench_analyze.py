"""`analyze` against a bill in DuckDB: `python tests/bench/bench_analyze.py [FLOWS]`.

Pairs, in CPU seconds of whole process trees:

```
analyze on Spark, VPC Parquet, less that of 1,000 flows / the bill of the same files in DuckDB
analyze of 1,000 flows on Spark / 20 CPU seconds
analyze with --engine local, less the imports of the command / the same bill in DuckDB
analyze of 1,000 flows with --engine local / 8 CPU seconds
analyze of all flows less that of 1,000 / that of a tenth less that of 1,000
analyze of a tenth as text, less that of 1,000 / as Parquet, less that of 1,000
analyze of a tenth as canonical flows, less that of 1,000 / the same
most memory of the Python of a task, all flows / 600 MB
```

The analyses of a tenth and of 1,000 flows run in interleaved rounds, and their medians count: the
differences between them are small.

The bill in DuckDB is SQL of its own over the files: listeners, the side that logged a flow, racks
of clients by the longest prefix, bytes by cluster and pair of racks. Both bills must be equal, to
the byte, before a ratio is printed. Flows are IPv4, and sound, because the SQL checks nothing.
"""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from duckdb_process import installed
from pairs import tell
from process_tree import cpu_s, used

if TYPE_CHECKING:
    from collections.abc import Sequence

    from process_tree import Use

FLOWS, FEW = 20_000_000, 1_000
ROUNDS = 5
CORES = 2
GATE, FIXED_GATE, GROWTH_GATE, MEMORY_GATE, LOCAL_GATE = 2.5, 1, 11, 1, 1.5
FORMAT_GATES = {"vpc-text": 2.5, "canonical": 1.5}
FIXED_S, LOCAL_FIXED_S, TASK_MB = 20, 8, 600
ON_SPARK, ON_LOCAL = ("--master", "local[2]"), ("--engine", "local")
IMPORTS = "import rackwise.pipeline.job, rackwise.pipeline.engines.local, rackwise.report.html"
LEVELS = "region,zone"
PARQUET = "vpc"
RACKWISE = str(Path(sys.executable).with_name("rackwise"))
BILL = """
import csv, json, sys, duckdb
brokers, subnets, files, cores = json.loads(sys.stdin.read())
db = duckdb.connect()
db.execute(f"SET threads = {cores}")
db.execute("CREATE TABLE ends(cluster TEXT, broker INT, address TEXT, port INT, rack TEXT)")
db.executemany("INSERT INTO ends VALUES (?, ?, ?, ?, ?)", brokers)
db.execute("CREATE TABLE nets(low BIGINT, high BIGINT, bits INT, rack TEXT)")
db.executemany("INSERT INTO nets VALUES (?, ?, ?, ?)", subnets)
db.execute('''CREATE TEMP TABLE flows AS
  SELECT coalesce(nullif(pkt_srcaddr, '-'), srcaddr) AS src, srcport,
    coalesce(nullif(pkt_dstaddr, '-'), dstaddr) AS dst, dstport,
    flow_direction = 'egress' AS is_egress, start // 86400 AS day, bytes,
    log_status = 'OK' AND action = 'ACCEPT' AND protocol = 6 AS is_data
  FROM read_parquet($files)''', {"files": files})
found = db.execute('''
  WITH logged AS (
    SELECT DISTINCT day, CASE WHEN is_egress THEN src ELSE dst END AS own FROM flows
  ), near AS (
    SELECT flows.*, coalesce(target.cluster, origin.cluster) AS cluster,
      target.broker IS NOT NULL AS is_to,
      coalesce(target.broker, origin.broker) AS near,
      coalesce(target.rack, origin.rack) AS near_rack,
      CASE WHEN target.broker IS NOT NULL THEN src ELSE dst END AS other
    FROM flows
    LEFT JOIN ends AS target ON target.address = dst AND target.port = dstport
    LEFT JOIN ends AS origin ON origin.address = src AND origin.port = srcport
    ANTI JOIN logged ON NOT flows.is_egress AND logged.day = flows.day AND logged.own = flows.src
    WHERE is_data AND (target.broker IS NOT NULL OR origin.broker IS NOT NULL)
  ), summed AS (
    SELECT cluster, is_to, near, near_rack, other, sum(bytes) AS bytes FROM near GROUP BY ALL
  ), clients AS (
    SELECT other, arg_max(rack, bits) AS rack FROM (
      SELECT DISTINCT other, list_reduce(
        list_transform(string_split(other, '.'), lambda x: x::BIGINT),
        lambda a, b: a * 256 + b) AS ip
      FROM summed)
    JOIN nets ON ip BETWEEN low AND high GROUP BY other
  ), sided AS (
    SELECT summed.cluster, near_rack, is_to, summed.bytes,
      CASE WHEN far.broker IS NOT NULL AND far.broker <> near THEN far.rack
        ELSE coalesce(clients.rack, '(unknown)') END AS far_rack
    FROM summed
    LEFT JOIN (SELECT DISTINCT cluster, address, broker, rack FROM ends) AS far
      ON far.cluster = summed.cluster AND far.address = other
    LEFT JOIN clients USING (other)
  )
  SELECT cluster, CASE WHEN is_to THEN far_rack ELSE near_rack END,
    CASE WHEN is_to THEN near_rack ELSE far_rack END, CAST(sum(bytes) AS HUGEINT)
  FROM sided GROUP BY ALL''').fetchall()
print(json.dumps([[*row[:3], int(row[3])] for row in found]))
"""


def generate(folder: Path, flows: int, form: str = PARQUET) -> Path:
    """A fleet of two clusters, with its snapshots and flows: by default flow logs in Parquet."""
    words = [
        "--clusters",
        "2",
        "--brokers",
        "12",
        "--topics",
        "40",
        "--ipv6",
        "0",
        "--bad-rows",
        "0",
        "--flow-format",
        form,
    ]
    command = [RACKWISE, "generate", *words, "--flows", str(flows), "--out", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def analyzed(fleet: Path, engine: Sequence[str] = ON_SPARK, form: str = PARQUET) -> Use:
    """What `analyze` uses; the result is in `out` of the fleet."""
    read_as = ("--flow-format", form) if form == "canonical" else ()
    inputs = [str(fleet / "snapshots"), "--flows", str(fleet / "flows")]
    options = ["--subnets", str(fleet / "subnets.csv"), "--provider", "aws", "--levels", LEVELS]
    out = fleet / "out"
    shutil.rmtree(out, ignore_errors=True)
    where = [*engine, "--no-plans", "--out", str(out)]
    return used([RACKWISE, "analyze", *inputs, *options, *read_as, *where])


def small_analyses(home: Path, tenth: int) -> dict[tuple[str, int], float]:
    """Format and flows -> median CPU seconds, for each format a tenth of all flows and few ones."""
    fleets = {
        (form, count): generate(home / f"{form}-{count}", count, form)
        for form in (PARQUET, *FORMAT_GATES)
        for count in (tenth, FEW)
    }
    rounds = [
        {(form, count): analyzed(fleet, form=form).cpu_s for (form, count), fleet in fleets.items()}
        for _ in range(ROUNDS)
    ]
    return {each: statistics.median(one[each] for one in rounds) for each in fleets}


def in_duckdb(fleet: Path) -> tuple[dict[tuple[str, str, str], int], float]:
    """(cluster, rack, rack) -> bytes, and the CPU seconds."""
    asked = json.dumps([brokers(fleet), subnets(fleet), f"{fleet}/flows/*.parquet", CORES])
    script, told = fleet / "bill.py", fleet / "bill.json"
    script.write_text(BILL)
    (fleet / "asked.json").write_text(asked)
    words = f"exec {installed()} {script} < {fleet}/asked.json > {told}"
    seconds = cpu_s(["sh", "-c", words])
    rows = json.JSONDecoder().decode(told.read_text())
    return {(cluster, a, b): bytes_ for cluster, a, b, bytes_ in rows if bytes_}, seconds


def brokers(fleet: Path) -> list[list[object]]:
    """Cluster, id, address, port and rack of each address of each broker."""
    rows: list[list[object]] = []
    for path in sorted((fleet / "snapshots").glob("*.json.gz")):
        snapshot = json.JSONDecoder().decode(gzip.decompress(path.read_bytes()).decode())
        name = path.name.removesuffix(".json.gz")
        rows += [
            [name, broker["id"], address, broker["port"], broker["rack"]]
            for broker in snapshot["brokers"]
            for address in broker["addresses"]
            if ":" not in address
        ]
    return rows


def subnets(fleet: Path) -> list[list[object]]:
    """First and last address, bits and rack of each network."""
    lines = (fleet / "subnets.csv").read_text().splitlines()[1:]
    pairs = [[cell.strip('"') for cell in line.split(",")] for line in lines]
    nets = [(ip_network(cidr), rack) for cidr, rack in pairs if ":" not in cidr]
    return [[int(net[0]), int(net[-1]), net.prefixlen, rack] for net, rack in nets]


def bill_of(fleet: Path) -> dict[tuple[str, str, str], int]:
    """(cluster, rack, rack) -> bytes of `analyze`."""
    summary = json.JSONDecoder().decode((fleet / "out" / "summary.json").read_text())
    return {
        (row["cluster"], row["from_rack"], row["to_rack"]): sum(
            row[name] for name in ("bytes_cross", "bytes_local", "bytes_unknown")
        )
        for row in summary["by_pair"]
    }


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else FLOWS
    tenth = count // 10
    with tempfile.TemporaryDirectory() as home:
        small = small_analyses(Path(home), tenth)
        few = small[PARQUET, FEW]
        beyond_few = {form: small[form, tenth] - small[form, FEW] for form, _ in small}
        fleet = generate(Path(home, "many"), count)
        use = analyzed(fleet)
        ours, task_mb = use.cpu_s, use.most_mb["python"] / CORES
        bill, peer = in_duckdb(fleet)
        if bill != bill_of(fleet):
            raise SystemExit("the two bills differ")
        local = analyzed(fleet, ON_LOCAL).cpu_s
        if bill != bill_of(fleet):
            raise SystemExit("the bill of the local engine differs")
        local_few = analyzed(Path(home, f"{PARQUET}-{FEW}"), ON_LOCAL).cpu_s
        imports = cpu_s([sys.executable, "-c", IMPORTS])
    print(
        f"{small}; {count} {ours:.1f} s, "
        f"DuckDB {peer:.1f} s, {task_mb:.0f} MB; local {local_few:.1f} s and {local:.1f} s, "
        f"imports {imports:.1f} s",
        file=sys.stderr,
    )
    tell(
        f"analyze of {count:,} flows in VPC Parquet on Spark, less {FEW:,} / DuckDB, CPU",
        (ours - few) / peer,
        gate=GATE,
    )
    tell(f"analyze of {FEW:,} flows on Spark / {FIXED_S} CPU s", few / FIXED_S, gate=FIXED_GATE)
    tell(
        f"analyze of {count:,} flows with --engine local, less imports / DuckDB, CPU",
        (local - imports) / peer,
        gate=LOCAL_GATE,
    )
    tell(
        f"analyze of {FEW:,} flows with --engine local / {LOCAL_FIXED_S} CPU s",
        local_few / LOCAL_FIXED_S,
        gate=FIXED_GATE,
    )
    tell(
        f"analyze of {count:,} flows / of a tenth, each less {FEW:,}, CPU",
        (ours - few) / beyond_few[PARQUET],
        gate=GROWTH_GATE,
    )
    for form, gate in FORMAT_GATES.items():
        tell(
            f"analyze of {tenth:,} flows as {form} / in VPC Parquet, each less {FEW:,}, CPU",
            beyond_few[form] / beyond_few[PARQUET],
            gate=gate,
        )
    tell(
        f"memory of a Python task, {count:,} flows / {TASK_MB} MB",
        task_mb / TASK_MB,
        gate=MEMORY_GATE,
    )
