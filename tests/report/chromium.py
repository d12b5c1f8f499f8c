"""A headless Chromium, controlled by its debugging pipe: one page, its requests and its log.

The pipe carries JSON messages, each ended by a NUL byte; no port is opened.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rackwise.core.errors import InvalidConfig

BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome", "chromium-browser")
DEADLINE_S = 60
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--remote-debugging-pipe",
)


def installed() -> str | None:
    """The first browser found on PATH."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


EXEC = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads from 3 and writes to 4."""
ABOVE_THEM = 10

DRAWN = """
new Promise(done => {
  const wait = () => document.getElementById("plotly")?.dataset.id
      && !document.documentElement.classList.contains("drawn")
    ? requestAnimationFrame(wait) : requestAnimationFrame(() => requestAnimationFrame(done));
  wait();
})
"""
"""Resolves when a report has unpacked and drawn its charts; at once on any other page."""


class Page:
    """One tab. `requests`: all requested addresses; `complaints`: logged errors and warnings."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer = reader, writer
        self._buffer = b""
        self._id = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask, and wait for the answer; events that come between are kept."""
        self._id += 1
        message = {"id": self._id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._id:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + DEADLINE_S
        while b"\0" not in self._buffer:
            left = max(0.0, end - time.monotonic())
            assert select.select([self._reader], [], [], left)[0], "the browser does not answer"
            piece = os.read(self._reader, 2**16)
            assert piece, "the browser has ended"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.JSONDecoder().decode(message.decode())

    def open_at(self, file: Path, fragment: str) -> None:
        """Load a file by a link with a fragment, as the last window would."""
        self.call("Page.navigate", url="about:blank")
        self._load(f"{file.as_uri()}#{fragment}")

    def open(self, file: Path, *, width: int, dark: bool = False) -> None:
        """Load a file as a window of this width and this colour scheme would."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.scheme(dark=dark)
        self._load(file.as_uri())

    def scheme(self, *, dark: bool) -> None:
        """Let the window have this colour scheme; an open page follows it."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def _load(self, url: str) -> None:
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())
        self.run(DRAWN)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, file: Path) -> None:
        """The whole page as a PNG."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        file.write_bytes(b64decode(data))

    def printed(self, file: Path) -> None:
        """The page as the printer gets it, as a PDF."""
        file.write_bytes(b64decode(self.call("Page.printToPDF")["data"]))

    @property
    def requests(self) -> list[str]:
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    @property
    def complaints(self) -> list[dict[str, Any]]:
        said = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event["method"] in said]


def _pipe() -> tuple[int, int]:
    """A pipe whose ends do not have the numbers that the browser uses."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, ABOVE_THEM) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


@contextlib.contextmanager
def page(profile: Path) -> Iterator[Page]:
    """A browser with an empty profile; it ends with the block."""
    browser = installed()
    if browser is None:
        raise InvalidConfig(
            "expected a browser, got none of " + ", ".join(BROWSERS) + " is on PATH"
        )
    to_browser, writer = _pipe()
    reader, from_browser = _pipe()
    started = [browser, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(
        [sys.executable, "-c", EXEC, str(to_browser), str(from_browser), *started],
        pass_fds=(to_browser, from_browser),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Page(reader, writer)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(writer)
        os.close(reader)
