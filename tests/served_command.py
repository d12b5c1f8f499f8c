"""`rackwise serve` as a process."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager

from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rpc_servers import PATIENCE_S


class Process:
    """A service that runs; `line()`: the next of its log."""

    def __init__(self, process):
        self.process = process
        self.first = self.line()
        self.server = f"127.0.0.1:{self.first['port']}"

    def line(self):
        return parse(self.process.stdout.readline().encode(), where="stdout", error=InvalidConfig)

    def ended(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err


@contextmanager
def served(*words):
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "rackwise.cli",
            "serve",
            "--listen",
            "127.0.0.1:0",
            *map(str, words),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Process(process)
    finally:
        process.kill()
        process.communicate()
