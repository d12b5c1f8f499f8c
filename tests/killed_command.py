"""`python killed_command.py LINES WORDS...`: a command that SIGKILLs itself after so many lines.

The lines are those that it appends to a journal: each is on the disk, its effect not begun.
"""

from __future__ import annotations

import os
import signal
import sys

from rackwise.adapters.files.journal import Journal
from rackwise.cli.main import run


def main(lines, words):
    append = Journal.append
    count = 0

    def and_die(journal, *told, **more):
        nonlocal count
        append(journal, *told, **more)
        count += 1
        if count == lines:
            os.kill(os.getpid(), signal.SIGKILL)

    Journal.append = and_die
    return run(words)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
