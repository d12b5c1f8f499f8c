"""Runs commands at the same time and shows their output one after another.

    python tests/side_by_side.py "make plain" "make spark"

The output of the first command is shown as it comes, stderr with stdout. When a command ends, the
output of the next one is shown, first what it has printed meanwhile, then the rest as it comes; the
text reads as if the commands had run in turn. A failure does not stop the others. The last lines
name the commands that failed, and the status is then 1. SIGTERM is passed on.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from queue import SimpleQueue

CHUNK_BYTES = 65536


class Running:
    """A running command; its output is read at once, so that it never blocks on a full pipe."""

    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._said = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def show(self):
        """Write its output until it ends; returns its exit status."""
        while chunk := self._said.get():
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        return self.process.wait()

    def _read(self):
        with self.process.stdout as output:
            while chunk := output.read1(CHUNK_BYTES):
                self._said.put(chunk)
        self._said.put(b"")


def main(commands):
    """Run all commands, show all in order, name those that failed."""
    with ExitStack() as stack:
        running = []
        signal.signal(signal.SIGTERM, lambda *_: [each.process.terminate() for each in running])
        for command in commands:
            running.append(Running(command))
            stack.callback(running[-1].process.wait)
        failed = [each.command for each in running if each.show()]
    for command in failed:
        print(f"failed: {command}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
