"""The frozen rows of `levels`: `python tests/golden_levels.py` writes them again.

They freeze our own answers, not upstream's, so that a change of rows is noticed and listed in the
changelog. Line 1 of `golden/place.levels.jsonl` describes the file; then comes one canonical JSON
line per case. No JVM is needed. The script lists the cases whose rows changed, and exits with 1 if
there are any.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

from rackwise import Broker, Levels, Rack, add_partitions, place
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json import strict as strict_json
from rackwise.core.json.canonical import canonical_json

FILE = Path(__file__).parent / "golden" / "place.levels.jsonl"
CASES = 120
TREES = (
    (None,),
    ("/a", "/b", "/c"),
    ("/a", "/a", "/b"),
    ("/eu/a", "/eu/b", "/us/a", "/us/b"),
    ("/1/a", "/1/b", "/1/c", "/1/c", "/1/c", "/2/a", "/2/b"),
    ("/a", "/b/x", "/b/y"),
    ("/eu/a/1", "/eu/a/2", "/eu/b/1", "/us/a/1", "/us/b/1"),
    ("/eu/a/1/x", "/eu/a/1/y", "/eu/b/2/x", "/us/a/1/x"),
    ("use1-az1", "use1-az2", "use1-az4"),
)


def cases() -> list[dict[str, Any]]:
    """The same cases at every call: trees of all depths, both balances, drawn and undrawn turns."""
    random = Random(879)
    found: list[dict[str, Any]] = []
    for number in range(CASES):
        racks = TREES[number % len(TREES)]
        brokers = random.randrange(1, 10)
        found.append(
            {
                "brokers": [[id_, random.choice(racks)] for id_ in range(brokers)],
                "partitions": random.randrange(1, 13),
                "added": random.choice([0, 0, random.randrange(1, 7)]),
                "replication": random.randrange(1, min(brokers, 5) + 1),
                "balance": random.choice(["brokers", "racks"]),
                "seed": random.choice([None, random.randrange(100)]),
            }
        )
    return found


def answered(case: dict[str, Any]) -> dict[str, Any]:
    """The case with its rows; rows of added partitions come last."""
    brokers = [
        Broker(id=id_, rack=None if rack is None else Rack(rack)) for id_, rack in case["brokers"]
    ]
    placer = Levels(balance=case["balance"])
    rng = None if case["seed"] is None else Random(case["seed"])
    made = place(brokers, case["partitions"], case["replication"], placer=placer, rng=rng)
    rows = made.rows.tolist()
    if case["added"]:
        added = add_partitions(made, brokers, case["added"], placer=placer, rng=rng)
        rows += added.rows.tolist()
    return {"in": case, "out": {"rows": rows}}


def answers() -> list[dict[str, Any]]:
    """All cases with their rows."""
    return [answered(case) for case in cases()]


def frozen() -> list[dict[str, Any]]:
    """The cases in the file; none if the file does not exist."""
    lines = FILE.read_bytes().splitlines() if FILE.exists() else []
    return [strict_json.parse(line, where=FILE.name, error=InvalidSnapshot) for line in lines[1:]]


def main() -> int:
    """Write the file and list what changed."""
    old, new = frozen(), answers()
    changed = [i for i, answer in enumerate(new) if i >= len(old) or old[i] != answer]
    for number in changed:
        print(f"changed: place.levels case {number}")
    heading = {"op": "place.levels", "cases": len(new), "source": "rackwise"}
    FILE.write_text("".join(canonical_json(line) + "\n" for line in [heading, *new]))
    print(f"{len(new)} cases of place.levels, {len(changed)} changed")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
