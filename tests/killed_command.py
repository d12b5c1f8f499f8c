"""`python killed_command.py LINES SIGNAL WORDS...`: a command signals itself after so many lines.

The lines are those that it appends to a journal: each is on the disk, its effect has not begun.
"""

from __future__ import annotations

import os
import signal
import sys

from rackwise.adapters.files.journal import Journal
from rackwise.cli.main import run


def main(lines, number, words):
    append = Journal.append
    count = 0

    def and_strike(journal, *told, **more):
        nonlocal count
        append(journal, *told, **more)
        count += 1
        if count == lines:
            os.kill(os.getpid(), number)

    Journal.append = and_strike
    return run(words)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), signal.Signals[sys.argv[2]], sys.argv[3:]))
