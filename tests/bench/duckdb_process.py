"""DuckDB in its own process: a yardstick for Spark on one machine.

It is not a dependency. It is installed once into `build/duckdb`, from `duckdb.txt` beside this
file. The process is kept, so that the query is timed and not its start.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rackwise.core.subnets import Subnet

HERE = Path(__file__).parent
HOME = HERE.parents[1] / "build" / "duckdb"
LOCK = HERE / "duckdb.txt"
BROKERS = range(60)
RUNS = """
import json, sys, duckdb
setup, rows, query, files = json.loads(sys.stdin.readline())
connection = duckdb.connect()
for statement in setup:
    connection.execute(statement)
for statement, values in rows:
    connection.executemany(statement, values)
for _ in sys.stdin:
    found = connection.execute(query, {"files": files}).fetchall()[0]
    print(json.dumps(found, default=int), flush=True)
"""
MATRIX = """
SELECT count(*), CAST(sum(bytes) AS BIGINT) FROM (
  SELECT CAST(epoch(window_start) AS BIGINT) // 86400 AS day, kind, topic,
    CASE WHEN kind = 0 THEN far ELSE near END AS from_rack,
    CASE WHEN kind = 0 THEN near ELSE far END AS to_rack, sum(bytes) AS bytes
  FROM (
    SELECT facts.*, coalesce(broker.rack, 0) AS near, CASE WHEN facts.peer <> 0
      THEN coalesce(peer.rack, 0) ELSE coalesce(fine.rack, coarse.rack, 0) END AS far
    FROM read_parquet($files) AS facts
    LEFT JOIN brokers AS broker ON broker.broker = facts.broker
    LEFT JOIN brokers AS peer ON peer.broker = facts.peer
    LEFT JOIN fine ON fine.bucket = facts.client_ip >> 8
    LEFT JOIN coarse ON coarse.bucket = facts.client_ip >> 12)
  GROUP BY ALL)
"""
SETUP = (
    "SET threads = 2",
    "SET TimeZone = 'UTC'",
    "SET enable_progress_bar = false",
    "CREATE TABLE brokers(broker INTEGER, rack INTEGER)",
    "CREATE TABLE fine(bucket BIGINT, rack INTEGER)",
    "CREATE TABLE coarse(bucket BIGINT, rack INTEGER)",
)
FINE, COARSE = 24, 20
ADDRESS_BITS = 32


class DuckDB:
    """The process; `folder` has the facts, `rack_of` gives a rack's rank by its broker's index."""

    def __init__(self, folder: Path, rack_of: Callable[[int], int], nets: Sequence[Subnet]) -> None:
        ranks = {rack: rank for rank, rack in enumerate(sorted({net.rack for net in nets}), 1)}
        by_length = {
            bits: [
                (int(net.network.network_address) >> (ADDRESS_BITS - bits), ranks[net.rack])
                for net in nets
                if net.network.prefixlen == bits
            ]
            for bits in (FINE, COARSE)
        }
        rows = (
            ("INSERT INTO brokers VALUES (?, ?)", [(at + 1, rack_of(at) + 1) for at in BROKERS]),
            ("INSERT INTO fine VALUES (?, ?)", by_length[FINE]),
            ("INSERT INTO coarse VALUES (?, ?)", by_length[COARSE]),
        )
        self._asked = json.dumps([SETUP, rows, MATRIX, f"{folder}/*.parquet"])

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [installed(), "-c", RUNS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._say(self._asked)
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate()

    def matrix(self) -> tuple[int, int]:
        """Rows and bytes of the daily topic matrix, computed anew."""
        self._say("again")
        rows, bytes_ = json.JSONDecoder().decode(self._process.stdout.readline())
        return rows, bytes_

    def _say(self, line: str) -> None:
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()


def installed() -> Path:
    """Its Python; a stamp makes reruns free."""
    stamp, python = HOME / "duckdb.stamp", HOME / "bin" / "python"
    if not stamp.is_file() or stamp.read_text() != LOCK.read_text():
        print(f"installing {LOCK.name} into build/duckdb (once)", file=sys.stderr, flush=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        subprocess.run([*pip, "--requirement", LOCK], check=True)
        stamp.write_text(LOCK.read_text())
    return python
