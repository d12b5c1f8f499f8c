"""`python killed_stream.py POINT WORDS...`: a command that SIGKILLs itself at a point of a stream.

`before-mark`: a batch is written and does not count yet. `after-mark`: it counts, and Spark has not
written down that it is done.
"""

from __future__ import annotations

import os
import signal
import sys

from rackwise.cli.main import run
from rackwise.pipeline.stream_store import Store


def main(point, words):
    commit = Store.commit

    def and_die(store, batch):
        if point == "after-mark":
            commit(store, batch)
        os.kill(os.getpid(), signal.SIGKILL)

    Store.commit = and_die
    return run(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
