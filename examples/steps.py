"""Runs commands as a person would: prints each command, its output and its exit code."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 60.0


class Unexpected(SystemExit):
    """An exit code or the state of the cluster differs from what the walk expects."""


def rackwise(*arguments: str | Path, expect: int = 0, is_shown: bool = True) -> str:
    """Run `rackwise` with these arguments; returns its stdout. Raises `Unexpected`."""
    words = [str(argument) for argument in arguments]
    print(f"\n$ rackwise {shlex.join(words)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "rackwise.cli", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(done.stdout if is_shown else f"({len(done.stdout)} characters)\n", end="")
    print(f"exit {done.returncode}", flush=True)
    if done.returncode != expect:
        raise Unexpected(f"expected exit {expect}, got {done.returncode}")
    return done.stdout


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Poll a condition. Raises `Unexpected` after a minute."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise Unexpected(f"expected {what} within {PATIENCE_S:.0f} s")
        time.sleep(0.2)
