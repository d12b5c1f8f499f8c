"""Peak memory of commands by the partition: 1,600,000 partitions stay below 2.5 GB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from command_memory import COMMANDS, MOST_BYTES, bytes_at_full_size

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("words", COMMANDS)
def test_most_memory(words: tuple[str, ...], tmp_path: Path) -> None:
    assert bytes_at_full_size(words, (10_000, 40_000), tmp_path) < MOST_BYTES
