"""Runs commands as a person would: echoes each one, shows what it says, tells its exit code."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Unexpected(SystemExit):
    """A command ended with another exit code than the walk-through expects."""


def rackwise(*arguments: str | Path, expect: int = 0, is_shown: bool = True) -> str:
    """Run `rackwise` with these arguments; give its stdout. Raises `Unexpected`."""
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
        raise Unexpected(f"exit {expect} is wanted; {done.returncode} came")
    return done.stdout
