"""Peers that need an environment of their own, under `build/peers`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ENVIRONMENTS = Path(__file__).parents[2] / "build" / "peers"


def peer_python(name: str, wanted: str) -> Path | None:
    """The interpreter of environment `name`, which has `wanted`; none if it cannot be installed."""
    home = ENVIRONMENTS / name
    python = home / "bin" / "python"
    stamp = home / "wanted"
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted]
    for step in ([sys.executable, "-m", "venv", home], pip):
        if subprocess.run(step, check=False, stdout=sys.stderr).returncode:
            print(
                f"{wanted} could not be installed; what it needs it for is left out",
                file=sys.stderr,
            )
            return None
    stamp.write_text(wanted)
    return python
