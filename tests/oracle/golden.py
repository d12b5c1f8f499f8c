"""The frozen answers of upstream, one file per operation; `make golden` asks upstream again.

Line 1 of `tests/golden/<operation>.<kafka line>.jsonl` says what was asked and of which jars; then
comes one canonical JSON line per case. `python tests/oracle/golden.py` rewrites the files, lists
the cases whose answer changed, and exits with 1 if there are any.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from cases import JUDGES, LINES, cases

from oracle import Oracle, OracleError
from rackwise.adapters.sandbox import KAFKA_3_9, KAFKA_4_3, jars, lock
from rackwise.core.errors import InvalidConfig
from rackwise.core.json import strict as strict_json
from rackwise.core.json.canonical import canonical_json
from rackwise.pipeline.runtime.java import find_java
from server_jars import built_server_jar

GOLDEN = Path(__file__).parents[1] / "golden"
SETS = {
    "3.9.2": (KAFKA_3_9, "oracle-4.3.1"),
    "4.3.1": (KAFKA_4_3, "oracle-4.3.1"),
    "4.4.0": ("kafka-clients-4.4.0",),
    "0.10.0.1": ("kafka-clients-0.10.0.1",),
}
GROUP_LINES = ("3.9.2", "4.3.1")
"""Lines that are asked for assignments of consumer groups."""
SERVER_LINE = "4.3.1"
"""The line whose coordinator calls our server-side assignors."""
FOREIGN = {"3.9.2": ("kafka-tools-4.3.1.jar",)}
"""Jars of the sets that belong to another line."""


def upstream(folder: Path, line: str, *, heap: str = "256m") -> Oracle:
    """The oracle of one Kafka line on the locked jars and the Java of this machine."""
    found = [path for name in SETS[line] for path in jars.resolve(name)]
    kept = [path for path in found if path.name not in FOREIGN.get(line, ())]
    if line == SERVER_LINE:
        kept.append(built_server_jar(folder / "server-assignor"))
    return Oracle(find_java(os.environ).home, kept, folder / line, line=line, heap=heap)


def answered(oracle: Oracle, operation: str, case: dict) -> dict:
    """The case with its answer, in the frozen form."""
    try:
        return {"in": case, "out": oracle.ask(operation, case)}
    except OracleError as error:
        return {"in": case, "error": {"class": error.cls, "message": error.message}}


def frozen(operation: str) -> list[dict]:
    """The frozen cases of one operation; none if it was never asked."""
    file = GOLDEN / f"{operation}.{LINES[operation]}.jsonl"
    lines = file.read_bytes().splitlines() if file.exists() else []
    return [strict_json.parse(line, where=file.name, error=InvalidConfig) for line in lines[1:]]


def heading(operation: str, count: int) -> dict:
    """Line 1: what was asked, and the hashes of the jars that answered."""
    line = LINES[operation]
    locked = {
        jar.coordinate: jar.sha512[:16] for name in SETS[line] for jar in lock.locked_jars(name)
    }
    judges = JUDGES[operation.split(".", maxsplit=1)[0]]
    return {
        "op": operation,
        "kafka": line,
        "cases": count,
        "source": "oracle",
        "artifacts": {c: h for c, h in locked.items() if c.split(":")[1] in judges},
    }


def main() -> int:
    """Ask every case, rewrite every file, list what changed."""
    asked: dict[str, list[dict]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        oracles = {line: stack.enter_context(upstream(Path(folder), line)) for line in SETS}
        for operation, case in cases():
            answer = answered(oracles[LINES[operation]], operation, case)
            asked.setdefault(operation, []).append(answer)
    changed = 0
    for operation, answers in sorted(asked.items()):
        old = frozen(operation)
        for number, answer in enumerate(answers):
            if number >= len(old) or old[number] != answer:
                print(f"changed: {operation} case {number}")
                changed += 1
        lines = [heading(operation, len(answers)), *answers]
        file = GOLDEN / f"{operation}.{LINES[operation]}.jsonl"
        file.write_text("".join(canonical_json(line) + "\n" for line in lines))
    print(f"{sum(map(len, asked.values()))} cases asked, {changed} changed")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
