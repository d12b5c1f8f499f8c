"""The memory that this process can still take, and what happens to memory that it has freed.

The limit is the least of what the machine has available, what the control group of the process
leaves, and what `ulimit -v` leaves. A limit that cannot be read does not count.

The C library keeps freed blocks below its threshold for `mmap`, up to 32 MB each, for later use.
The arrays of a large search have many sizes, so that much of it stays unused. A check takes and
frees arrays of few sizes. It is faster if it keeps them all: the system clears each page that it
gives to a process. A run of many steps, such as `analyze`, takes other sizes in each step: the
memory of one step is of no use to the next one.

Source: proc_meminfo(5), proc_pid_statm(5); Linux, "Control Group v2", section "Memory";
malloc_trim(3), mallopt(3); glibc, "Tunables", `glibc.malloc.arena_max`.
"""

from __future__ import annotations

import ctypes
import resource
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rackwise.core.solver import Network


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Options of `mallopt`: the free bytes above which it gives memory back, the bytes from which a
block is mapped, and the number of heaps."""
_RETURNED, _KEPT = 2**22, 2**26
"""Bytes of a block that returns to the system, and of the freed smaller blocks that do not."""
_LARGEST = 2**31 - 1
"""The greatest C int."""


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes, None if no limit is known. `root`: where `proc` and `sys` are."""
    return min(_limits(root), default=None)


def release_memory() -> None:
    """Give freed memory back to the system, where the C library can."""
    # Only glibc has it: musl and macOS return freed memory themselves.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def keep_memory() -> None:
    """Keep freed memory for later use from now on, where the C library can."""
    _set_options({_TRIM_THRESHOLD: _LARGEST, _MMAP_THRESHOLD: _LARGEST})


def return_memory() -> None:
    """Give large blocks back to the system from now on as they are freed, where the C library can.

    All threads share one heap: each further heap reserves 64 MiB of address space.
    """
    _set_options({_TRIM_THRESHOLD: _KEPT, _MMAP_THRESHOLD: _RETURNED, _ARENA_MAX: 1})


def release_before(
    solve: Callable[[Network], NDArray[np.int64]],
) -> Callable[[Network], NDArray[np.int64]]:
    """The same solver, before which the memory that a search has freed returns to the system."""

    def solve_after(network: Network) -> NDArray[np.int64]:
        release_memory()
        # The solver gets the only reference: it forgets the network that it has copied.
        networks = [network]
        del network
        return solve(networks.pop())

    return solve_after


def _set_options(options: Mapping[int, int]) -> None:
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        for option, value in options.items():
            set_option(option, value)


def _limits(root: Path) -> Iterator[int]:
    with suppress(OSError, KeyError, ValueError):
        yield _fields(root / "proc/meminfo")["MemAvailable"] * 1024
    group = root / "sys/fs/cgroup"
    with suppress(OSError, KeyError, ValueError):
        most = int((group / "memory.max").read_text())
        # The kernel gives up files that it has only cached before it refuses memory.
        cached = _fields(group / "memory.stat")["inactive_file"]
        yield max(most - int((group / "memory.current").read_text()) + cached, 0)
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError):
            pages = int((root / "proc/self/statm").read_text().split()[0])
            yield max(soft - pages * resource.getpagesize(), 0)


def _fields(path: Path) -> dict[str, int]:
    """`MemAvailable:  12345 kB` and `inactive_file 12345` as names and numbers."""
    lines = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}
