"""Stores of identities for tests: each kind prepared and empty, and claimers on it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from rackwise.adapters.launch.views.stores import init_store, open_store
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse

CLAIMERS = Path(__file__).with_name("claimers.py")


class Place:
    """The location of a store; `open` opens one more session on it."""

    def __init__(self, url, running):
        self.url = url
        self.running = running

    def prepare(self):
        init_store(self.url)
        return self

    def open(self, **options):
        return self.running.enter_context(open_store(self.url, **options))


@contextmanager
def claimers(url, count, *options):
    """Processes that claim ids; they end when their standard input does."""
    command = [sys.executable, str(CLAIMERS), url, str(count), *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(60)


def told_by(process, count):
    """The result that each claimer prints."""
    return [
        parse(process.stdout.readline().encode(), where="a claimer", error=InvalidConfig)
        for _ in range(count)
    ]
