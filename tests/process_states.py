"""The state of a process, as the kernel reports it."""

from __future__ import annotations

from pathlib import Path


def is_stopped(pid):
    """Whether a signal has stopped the process, and nothing has continued it since."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:  # it has ended
        return False
    return status.rpartition(")")[2].split()[0] == "T"
