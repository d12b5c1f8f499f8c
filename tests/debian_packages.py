"""Debian's packages, unpacked into a folder: nothing is installed, and no root is needed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

FETCH_S = 120


def fetch(packages: tuple[str, ...], folder: Path) -> str:
    """Unpack packages into the folder; returns why that was not possible, or nothing."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return "there is no apt-get"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        for command in (
            ["apt-get", "-qq", "download", *packages],
            *(["sh", "-c", f"dpkg-deb -x {each}_*.deb whole"] for each in packages),
        ):
            try:
                done = subprocess.run(
                    command, cwd=name, capture_output=True, text=True, check=False, timeout=FETCH_S
                )
            except subprocess.TimeoutExpired:
                return f"{command[0]} took more than {FETCH_S} s"
            if done.returncode:
                return (done.stderr.strip().splitlines() or ["apt-get failed"])[-1]
        shutil.rmtree(folder, ignore_errors=True)
        (Path(name) / "whole").rename(folder)
    return ""
