"""Forks starts of brokers from one warm process, so that many begin at the same instant.

A line of JSON on standard input: `[plan, ...]` forks one process for each, which opens its session
and waits; `"go"` lets all waiting processes start. Each line on standard output is a report of a
start, with its number; this process adds `exit`. The end of standard input kills all that are left.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import rackwise.adapters.zookeeper  # noqa: F401 (before the fork)
from chaos.starter import start

POLL_S = 0.02


class Zygote:
    def __init__(self):
        self.numbers = {}
        self.barrier = None

    def fork(self, plans):
        waiting, is_open = os.pipe()
        for plan in plans:
            pid = os.fork()
            if pid == 0:
                os.close(is_open)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                start(plan, waiting)
            self.numbers[pid] = plan["number"]
        os.close(waiting)
        self.barrier = is_open

    def reap(self):
        while self.numbers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            told = {"number": self.numbers.pop(pid), "event": "exit", "pid": pid}
            code = os.waitstatus_to_exitcode(status)
            os.write(1, (json.dumps(told | {"status": code}) + "\n").encode())

    def hear(self, line):
        told = json.loads(line)  # noqa: TID251 (our own text)
        if told == "go":
            os.close(self.barrier)
        else:
            self.fork(told)

    def close(self):
        for pid in self.numbers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def main():
    zygote = Zygote()
    while True:
        zygote.reap()
        if not select.select([0], [], [], POLL_S)[0]:
            continue
        line = sys.stdin.buffer.raw.readline()  # unbuffered: select sees what is left
        if not line:
            break
        zygote.hear(line)
    zygote.close()


if __name__ == "__main__":
    main()
