"""CPU seconds of a command with all of its processes: Java, its Python workers, and theirs."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TICK_S = 0.05
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PARENT, OWN_TIMES = 1, slice(11, 13)
"""Fields of `/proc/PID/stat` after the name of the program."""


def cpu_s(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """Run a command and return its CPU seconds; those of a process since its last look are lost.

    Raises `SystemExit` if the command fails.
    """
    seen: dict[int, int] = {}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    is_over = threading.Event()
    looking = threading.Thread(target=_look, args=(process.pid, seen, is_over))
    looking.start()
    _, told = process.communicate()
    is_over.set()
    looking.join()
    if process.returncode not in {0, 2}:
        raise SystemExit(told.decode()[-2000:])
    return sum(seen.values()) / TICKS_PER_S


def _look(root: int, seen: dict[int, int], is_over: threading.Event) -> None:
    """Keep the ticks of each process of the tree; a process that was in it stays in it."""
    known = {root}
    while not is_over.wait(TICK_S):
        stats = dict(_stats())
        more = True
        while more:
            more = {pid for pid, (parent, _) in stats.items() if parent in known} - known
            known |= more
        for pid in known & stats.keys():
            seen[pid] = max(seen.get(pid, 0), stats[pid][1])


def _stats() -> list[tuple[int, tuple[int, int]]]:
    """PID -> parent, and ticks of its own."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks = sum(map(int, fields[OWN_TIMES]))
        found.append((int(folder.name), (int(fields[PARENT]), ticks)))
    return found
