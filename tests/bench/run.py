"""`make bench`: runs every `bench_*.py` beside it, one after another, and collects their ratios.

Writes `build/bench/ratios.json` and a table on stdout; exits with 1 if a gate is missed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE.parents[1] / "build" / "bench" / "ratios.json"


def run(file: Path) -> list[dict]:
    """The result lines of one benchmark; its other output goes to stderr at once."""
    print(f"$ python tests/bench/{file.name}", file=sys.stderr, flush=True)
    done = subprocess.run([sys.executable, file], check=True, stdout=subprocess.PIPE, text=True)
    decoder = json.JSONDecoder()
    return [decoder.decode(line) for line in done.stdout.splitlines() if line.startswith("{")]


def main() -> int:
    """Run all benchmarks, print all results, compare all with their gates."""
    results = [result for file in sorted(HERE.glob("bench_*.py")) for result in run(file)]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(results, indent=1) + "\n")
    for result in results:
        mark = "ok    " if result["ok"] else "MISSED"
        gate = "      -" if result["gate"] is None else f"<= {result['gate']:<5}"
        print(f"{mark} {result['ratio']:8.3g} {gate:<8} {result['pair']}")
    return 0 if all(result["ok"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
