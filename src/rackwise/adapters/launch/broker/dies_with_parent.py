"""Becomes a command that ends with the process that started it.

```
supervisor ──fork──> tied.py PARENT COMMAND... ──exec──> COMMAND     one process id throughout
```

Linux sends SIGTERM to the command when its supervisor is gone, however that ended: no broker runs
on that nobody watches. A broker hears it as a shutdown in order. Elsewhere nothing ties the two.

The file is run by path, alone and isolated (`python -I -S tied.py PARENT COMMAND...`), so it starts
in milliseconds and runs no code between fork and exec of a process with threads; it must import
nothing but the standard library. Statuses are a shell's: 127 no such command, 126 it cannot be run.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
NOT_FOUND, NOT_RUNNABLE = 127, 126


def main(parent: int, command: Sequence[str]) -> int:
    """Become `command`; a status is given only where that failed."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return 128 + signal.SIGTERM
    try:
        os.execvp(command[0], list(command))  # noqa: S606 (no shell is wanted)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 (a shell's words)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
