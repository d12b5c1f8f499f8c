"""DuckDB in its own process: a yardstick for one machine.

It is not a dependency. It is installed once into `build/duckdb`, from `duckdb.txt` beside this
file. The process is kept, so that the query is timed and not its start.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Self

HERE = Path(__file__).parent
HOME = HERE.parents[1] / "build" / "duckdb"
LOCK = HERE / "duckdb.txt"
RUNS = """
import json, sys, duckdb
setup, query, files = json.loads(sys.stdin.readline())
connection = duckdb.connect()
for statement in setup:
    connection.execute(statement)
for _ in sys.stdin:
    found = connection.execute(query, {"files": files}).fetchall()[0]
    print(json.dumps(found, default=int), flush=True)
"""
MATRIX = """
SELECT count(*), CAST(sum(bytes) AS BIGINT) FROM (
  SELECT day, kind, topic,
    CASE WHEN kind = 0 THEN far ELSE near END AS from_rack,
    CASE WHEN kind = 0 THEN near ELSE far END AS to_rack, sum(bytes) AS bytes
  FROM (
    SELECT *, broker_rack AS near, CASE WHEN peer <> 0 THEN peer_rack ELSE client_rack END AS far
    FROM read_parquet($files))
  GROUP BY ALL)
"""
SETUP = ("SET threads = 1", "SET enable_progress_bar = false")


class DuckDB:
    """The process; `folder` has the facts."""

    def __init__(self, folder: Path) -> None:
        self._asked = json.dumps([SETUP, MATRIX, f"{folder}/*.parquet"])

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
