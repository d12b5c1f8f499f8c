"""How much memory the read of a file asks for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rackwise.adapters.files.bounded_read import read_bytes
from rackwise.core.errors import InvalidConfig

_READ = """
import resource, sys
from rackwise.adapters.files.bounded_read import read_bytes
from rackwise.core.errors import InvalidConfig
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
assert read_bytes(sys.argv[1], error=InvalidConfig, max_bytes=1 << 40) == b"{}"
"""


def test_a_high_limit_reserves_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_bytes(b"{}")
    subprocess.run([sys.executable, "-c", _READ, path], check=True)


def test_a_file_that_states_no_size_is_read_up_to_the_limit() -> None:
    path = Path("/proc/self/limits")
    assert path.stat().st_size == 0
    assert b"Max address space" in read_bytes(path, error=InvalidConfig)
    with pytest.raises(InvalidConfig, match="expected at most 10 bytes, got more"):
        read_bytes(path, error=InvalidConfig, max_bytes=10)
