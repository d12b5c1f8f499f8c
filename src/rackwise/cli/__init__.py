"""The command line: each command gathers, decides, acts, shows; core decides in one call."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["main"]

INTERRUPTED = 128 + 2
"""The exit code after SIGINT; `signal` is not loaded for its number."""


def main() -> NoReturn:
    """Run the command of `sys.argv`; without its packages, say what to install.

    Ctrl-C while packages still load ends it as it would end a command that has written nothing.
    """
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
        print("hint: pip install 'rackwise[cli]'", file=sys.stderr)
        sys.exit(1)
