"""Draws the picture of a report that README shows: its first screens.

Run `make demo`, then `python docs/reference/picture.py`; wants Chromium. `picture.py REPORT PNG`
draws another report.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "build" / "demo" / "report.html"
PICTURE = ROOT / "docs" / "report.png"
BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome", "chromium-browser")
WIDTH, HEIGHT = 1230, 1280
PATIENCE_MS = 20_000


def draw(report: Path, picture: Path) -> None:
    """Write the top of the page as a PNG. Raises `SystemExit` where no browser or no report is."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"expected a browser on PATH: {', '.join(BROWSERS)}")
    if not report.is_file():
        raise SystemExit(f"missing {report}; make demo writes it")
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                f"--user-data-dir={profile}",
                f"--window-size={WIDTH},{HEIGHT}",
                f"--virtual-time-budget={PATIENCE_MS}",
                f"--screenshot={picture.resolve()}",
                report.resolve().as_uri(),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    asked = [Path(each) for each in sys.argv[1:]] or [REPORT, PICTURE]
    draw(*asked)
    print(asked[1])
