"""The state and the memory of a process, as `ps` reports them on every system."""

from __future__ import annotations

import subprocess


def state(pid):
    """The letter of its state, such as T for stopped; empty if it has ended and was reaped."""
    return _column("stat", pid)[:1]


def is_alive(pid):
    """Whether a process has not ended; a zombie has."""
    return state(pid) not in {"", "Z"}


def is_stopped(pid):
    """Whether a signal has stopped the process, and nothing has continued it since."""
    return state(pid) == "T"


def resident_bytes(pid):
    """Its resident memory."""
    return int(_column("rss", pid)) * 1024


def _column(name, pid):
    words = ["ps", "-o", f"{name}=", "-p", str(pid)]
    return subprocess.run(words, capture_output=True, check=False, text=True).stdout.strip()
