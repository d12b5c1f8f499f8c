"""Prometheus, promtool and node_exporter: those on PATH, or of Debian's packages, fetched once.

`python tests/prometheus_tools.py` fetches them into `build/prometheus`, or the folder that
`RACKWISE_PROMETHEUS` names. It needs apt-get with the lists of Debian, and no root. Nothing is
installed and no service is started.
"""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

from debian_packages import fetch

ROOT = Path(__file__).parents[1]
FOLDER = Path(os.environ.get("RACKWISE_PROMETHEUS") or ROOT / "build" / "prometheus")
PACKAGES = ("prometheus", "prometheus-node-exporter")
PROMETHEUS = ("prometheus",)
PROMTOOL = ("promtool",)
NODE_EXPORTER = ("prometheus-node-exporter", "node_exporter")


def found(names: tuple[str, ...]) -> str | None:
    """The path of the first program of these names."""
    places = (None, str(FOLDER / "usr" / "bin"))
    paths = (shutil.which(name, path=place) for place in places for name in names)
    return next(filter(None, paths), None)


@cache
def missing() -> str | None:
    """Why the tests with Prometheus cannot run, after an attempt to fetch it; None if they can."""
    if not has_all():
        reason = fetch(PACKAGES, FOLDER)
        if not has_all():
            return f"Prometheus and node_exporter are not on PATH and cannot be fetched: {reason}"
    return None


def has_all() -> bool:
    """Whether all programs are there."""
    return None not in {found(PROMETHEUS), found(PROMTOOL), found(NODE_EXPORTER)}


if __name__ == "__main__":
    raise SystemExit(missing())
