"""The frozen answers of upstream, one file per operation; `make golden` asks upstream again.

Line 1 of `tests/golden/<operation>.<kafka line>.jsonl` says what was asked and of which jars; then
one canonical JSON line per case. `python tests/oracle/golden.py` rewrites the files, lists the
cases whose answer changed, and ends with 1 if there were any.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from cases import LINE, cases

from oracle import Oracle, OracleError
from rackwise.adapters.files import strict_json
from rackwise.adapters.sandbox import jars
from rackwise.core.canonical import canonical_json
from rackwise.core.errors import InvalidConfig
from rackwise.pipeline.java import find_java

GOLDEN = Path(__file__).parents[1] / "golden"
SETS = (jars.KAFKA_4, "oracle-4.3.1")
JUDGES = ("kafka-tools", "kafka-clients", "jackson-databind")


def upstream(folder: Path) -> Oracle:
    """The oracle on the locked jars and the Java of this machine."""
    return Oracle(
        find_java(os.environ).home, [p for name in SETS for p in jars.resolve(name)], folder
    )


def answered(oracle: Oracle, operation: str, case: dict) -> dict:
    """The case with its answer, as it is frozen."""
    try:
        return {"in": case, "out": oracle.ask(operation, case)}
    except OracleError as error:
        return {"in": case, "error": {"class": error.cls, "message": error.message}}


def frozen(operation: str) -> list[dict]:
    """The frozen cases of one operation; none where it was never asked."""
    file = GOLDEN / f"{operation}.{LINE}.jsonl"
    lines = file.read_bytes().splitlines() if file.exists() else []
    return [strict_json.parse(line, where=file.name, error=InvalidConfig) for line in lines[1:]]


def heading(operation: str, count: int) -> dict:
    """Line 1: what was asked, and the hashes of the jars that answered."""
    locked = {jar.coordinate: jar.sha512[:16] for name in SETS for jar in jars.locked_jars(name)}
    return {
        "op": operation,
        "kafka": LINE,
        "cases": count,
        "source": "oracle",
        "artifacts": {c: h for c, h in locked.items() if c.split(":")[1] in JUDGES},
    }


def main() -> int:
    """Ask every case, rewrite every file, tell what changed."""
    asked: dict[str, list[dict]] = {}
    with tempfile.TemporaryDirectory() as folder, upstream(Path(folder)) as oracle:
        for operation, case in cases():
            asked.setdefault(operation, []).append(answered(oracle, operation, case))
    changed = 0
    for operation, answers in sorted(asked.items()):
        old = frozen(operation)
        for number, answer in enumerate(answers):
            if number >= len(old) or old[number] != answer:
                print(f"changed: {operation} case {number}")
                changed += 1
        lines = [heading(operation, len(answers)), *answers]
        file = GOLDEN / f"{operation}.{LINE}.jsonl"
        file.write_text("".join(canonical_json(line) + "\n" for line in lines))
    print(f"{sum(map(len, asked.values()))} cases asked, {changed} changed")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
