"""The command line. Each command gathers its input, calls core once to decide, acts and shows."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

__all__ = ["main"]

INTERRUPTED = 128 + 2
"""The exit code after SIGINT. Written as a number, so that `signal` is not loaded."""


def main() -> NoReturn:
    """Run the command in `sys.argv`. If typer is missing, say how to install it.

    Ctrl-C while packages load exits with the code of a command that has written nothing.
    """
    # numpy's OpenBLAS starts a thread for each processor, which costs 40 ms of processor time at
    # each start, and memory for each thread. Rackwise solves no linear equations.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocator reserves 1 GiB of address space at once, and aborts the process where a
    # thread gets no memory. That of the system does neither, and is as fast here.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        from rackwise.cli.main import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        print(
            "error: typer is required by the command line, but it is not installed", file=sys.stderr
        )
        print("hint: pip install rackwise", file=sys.stderr)
        sys.exit(1)
    except (MemoryError, ImportError, OSError) as error:
        # `run` reports its own errors, so these come from loading packages. numpy has the cause of
        # a library that did not fit in the middle of a long text.
        text, causes = str(error).lower(), ("failed to map segment", "cannot allocate memory")
        if not isinstance(error, MemoryError) and not any(each in text for each in causes):
            raise
        print("error: memory exhausted: the packages could not be loaded", file=sys.stderr)
        print("hint: raise the memory limit of this process, such as ulimit -v", file=sys.stderr)
        sys.exit(1)
