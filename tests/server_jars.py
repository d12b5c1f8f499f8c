"""The jar of the server-side assignors, built from the sources of this repository."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def built_server_jar(folder: Path) -> Path:
    """Build the jar into a folder; its path."""
    sys.path.insert(0, str(ROOT / "server-assignor"))
    from server_jar import build

    return build(folder)
