"""promtool and node_exporter: the first on PATH, or those of Debian's packages, fetched once.

`python tests/prometheus_tools.py` fetches them into `build/prometheus`, or the folder that
`RACKWISE_PROMETHEUS` names. It needs apt-get with the lists of Debian, and no root. Nothing is
installed and no service is started.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = Path(os.environ.get("RACKWISE_PROMETHEUS") or ROOT / "build" / "prometheus")
PACKAGES = ("prometheus", "prometheus-node-exporter")
PROMTOOL = ("promtool",)
NODE_EXPORTER = ("prometheus-node-exporter", "node_exporter")
FETCH_S = 120


def found(names: tuple[str, ...]) -> str | None:
    """The path of the first program of these names."""
    places = (None, str(FOLDER / "usr" / "bin"))
    paths = (shutil.which(name, path=place) for place in places for name in names)
    return next(filter(None, paths), None)


@cache
def missing() -> str | None:
    """Why the tests with Prometheus cannot run, after an attempt to fetch it; None if they can."""
    if not has_both():
        reason = fetch()
        if not has_both():
            return f"promtool and node_exporter are not on PATH and cannot be fetched: {reason}"
    return None


def has_both() -> bool:
    """Whether both programs are there."""
    return None not in {found(PROMTOOL), found(NODE_EXPORTER)}


def fetch() -> str:
    """Unpack Debian's packages into the folder; returns why that was not possible, or nothing."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return "there is no apt-get"
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER.parent) as name:
        folder = Path(name)
        for command in (
            ["apt-get", "-qq", "download", *PACKAGES],
            *(["sh", "-c", f"dpkg-deb -x {each}_*.deb whole"] for each in PACKAGES),
        ):
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=FETCH_S,
                )
            except subprocess.TimeoutExpired:
                return f"{command[0]} took more than {FETCH_S} s"
            if done.returncode:
                return (done.stderr.strip().splitlines() or ["apt-get failed"])[-1]
        shutil.rmtree(FOLDER, ignore_errors=True)
        (folder / "whole").rename(FOLDER)
    return ""


if __name__ == "__main__":
    raise SystemExit(missing())
