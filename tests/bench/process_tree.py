"""CPU and memory of a command with all of its processes: Java, its Python workers, and theirs."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TICK_S = 0.05
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20
PARENT, OWN_TIMES, PAGES = 1, slice(11, 13), 21
"""Fields of `/proc/PID/stat` after the name of the program."""


class Use(NamedTuple):
    """What a command used."""

    cpu_s: float
    """Those of a process since its last look are lost."""
    most_mb: dict[str, float]
    """Program, such as `java` -> the most resident memory of all its processes at one time."""


class _Process(NamedTuple):
    """A running process."""

    name: str
    parent: int
    ticks: int
    pages: int


def cpu_s(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """Run a command and return its CPU seconds. Raises `SystemExit` if the command fails."""
    return used(command, env).cpu_s


def used(command: Sequence[str], env: Mapping[str, str] | None = None) -> Use:
    """Run a command and return what it used. Raises `SystemExit` if the command fails."""
    seen: dict[int, int] = {}
    most: dict[str, float] = {}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    is_over = threading.Event()
    looking = threading.Thread(target=_look, args=(process.pid, seen, most, is_over))
    looking.start()
    _, told = process.communicate()
    is_over.set()
    looking.join()
    if process.returncode not in {0, 2}:
        raise SystemExit(told.decode()[-2000:])
    return Use(sum(seen.values()) / TICKS_PER_S, most)


def _look(
    root: int, seen: dict[int, int], most: dict[str, float], is_over: threading.Event
) -> None:
    """Keep the ticks of each process of the tree; a process that was in it stays in it."""
    known = {root}
    while not is_over.wait(TICK_S):
        stats = dict(_stats())
        more = True
        while more:
            more = {pid for pid, each in stats.items() if each.parent in known} - known
            known |= more
        now: dict[str, float] = {}
        for pid in known & stats.keys():
            each = stats[pid]
            seen[pid] = max(seen.get(pid, 0), each.ticks)
            now[each.name] = now.get(each.name, 0) + each.pages * PAGE_MB
        for name, mb in now.items():
            most[name] = max(most.get(name, 0), mb)


def _stats() -> list[tuple[int, _Process]]:
    """PID -> process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        ticks = sum(map(int, fields[OWN_TIMES]))
        process = _Process(name.partition("(")[2], int(fields[PARENT]), ticks, int(fields[PAGES]))
        found.append((int(folder.name), process))
    return found
