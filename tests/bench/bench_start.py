"""Start times in units of an empty interpreter's: `python tests/bench/bench_start.py`."""

from __future__ import annotations

import subprocess
import sys

from pairs import compare


def start(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def empty() -> None:
    start("-c", "")


if __name__ == "__main__":
    compare("import rackwise / empty start", lambda: start("-c", "import rackwise"), empty, gate=5)
    compare(
        "rackwise --help / empty start",
        lambda: start("-m", "rackwise.cli", "--help"),
        empty,
        gate=10,
    )
