"""Free memory from the files of Linux."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from process_states import resident_bytes
from rackwise.adapters import memory
from rackwise.adapters.memory import (
    free_memory,
    keep_memory,
    release_before,
    release_memory,
    return_memory,
)
from rackwise.core.solver import Network

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MEMINFO = "MemTotal:       24000000 kB\nMemFree:         100 kB\nMemAvailable:    5000 kB\n"
STATM = f"{100_000_000 // os.sysconf('SC_PAGE_SIZE')} 9 8 7 0 6 0\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text(MEMINFO)
    (tmp_path / "proc/self/statm").write_text(STATM)
    return tmp_path


def limit_address_space(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, resource.RLIM_INFINITY))


class TestLimits:
    @pytest.fixture(autouse=True)
    def _no_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        limit_address_space(monkeypatch, resource.RLIM_INFINITY)

    def test_the_machine(self, root: Path) -> None:
        assert free_memory(root) == 5_000 * 1024

    def test_the_control_group(self, root: Path) -> None:
        """What it has cached of files is free."""
        group = root / "sys/fs/cgroup"
        (group / "memory.max").write_text("3000000\n")
        (group / "memory.current").write_text("1000000\n")
        (group / "memory.stat").write_text("anon 500000\ninactive_file 400000\n")
        assert free_memory(root) == 2_400_000
        (group / "memory.current").write_text("4000000\n")
        assert free_memory(root) == 0

    def test_a_control_group_without_limit(self, root: Path) -> None:
        (root / "sys/fs/cgroup/memory.max").write_text("max\n")
        assert free_memory(root) == 5_000 * 1024

    def test_nothing_is_known(self, tmp_path: Path) -> None:
        assert free_memory(tmp_path) is None


def test_ulimit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_address_space(monkeypatch, 101_000_000)
    assert 1_000_000 <= free_memory(root) <= 1_100_000
    limit_address_space(monkeypatch, 1_000)
    assert free_memory(root) == 0


def test_this_machine() -> None:
    found = free_memory()
    assert found is None or found > 0


class TestRelease:
    def test_freed_blocks_return_to_the_system(self) -> None:
        """glibc keeps them otherwise, below a block that is in use; other C libraries do not."""
        before = resident_bytes(os.getpid())
        blocks = [b"x" * 20_000 for _ in range(4_000)]
        last = b"x" * 20_000
        del blocks
        release_memory()
        assert resident_bytes(os.getpid()) - before < 40_000_000
        assert len(last) == 20_000

    def test_other_c_libraries_have_no_such_call(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
        release_memory()


FREED = """
import os
from rackwise.adapters.memory import keep_memory, return_memory
from process_states import resident_bytes
{first}
blocks, last = [b"x" * {size} for _ in range({count})], b"x" * 20_000
before = resident_bytes(os.getpid())
del blocks
print(before - resident_bytes(os.getpid()))
"""
"""Prints how many of the bytes of some blocks return to the system when they are freed."""
LARGE = "large = b'x' * 30_000_000; del large"
"""From here on, glibc keeps blocks of this size."""


def returned_bytes(first: str, *, size: int, count: int) -> int:
    done = subprocess.run(
        [sys.executable, "-c", FREED.format(first=first, size=size, count=count)],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return int(done.stdout)


def is_glibc() -> bool:
    return hasattr(ctypes.CDLL(None), "gnu_get_libc_version")


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_freed_block_stays_with_the_process(*, is_kept: bool) -> None:
    """glibc gives a block of this size back otherwise; other C libraries do not keep it."""
    first = "keep_memory()" if is_kept else ""
    found = returned_bytes(first, size=40_000_000, count=1)
    assert (found < 1_000_000) == (is_kept and is_glibc())


@pytest.mark.parametrize("is_returned", [True, False])
def test_a_freed_block_returns_to_the_system(*, is_returned: bool) -> None:
    """glibc keeps it otherwise, below a block that is in use."""
    first = f"{LARGE}; return_memory()" if is_returned else LARGE
    found = returned_bytes(first, size=20_000_000, count=4)
    assert (found > 79_000_000) == (is_returned or not is_glibc())


@pytest.mark.parametrize("change", [keep_memory, return_memory])
def test_other_c_libraries_have_no_such_call(
    change: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    change()


class TestReleaseBeforeASolver:
    NONE = np.zeros(0, dtype=np.int64)

    def network(self) -> Network:
        none = self.NONE
        return Network(tails=none, heads=none, capacities=none, costs=none, supplies=none)

    def test_memory_is_released_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[str] = []
        monkeypatch.setattr(memory, "release_memory", lambda: calls.append("release"))
        solve = release_before(lambda _: calls.append("solve") or self.NONE)  # type: ignore[func-returns-value]
        assert solve(self.network()) is self.NONE
        assert calls == ["release", "solve"]

    def test_the_solver_gets_the_only_reference(self) -> None:
        """So that it can forget the network before it searches."""
        counts: list[int] = []

        def solve(network: Network) -> np.ndarray:
            counts.append(sys.getrefcount(network))
            return self.NONE

        solve(self.network())
        release_before(solve)(self.network())
        assert counts[0] == counts[1]
