"""Ends a process when the process that started it ends.

```
supervisor ──fork──> dies_with_parent.py PARENT COMMAND... ──exec──> COMMAND     one process id
```

Linux sends SIGTERM to the command when its supervisor ends for any reason, so no broker runs
unsupervised. A broker treats SIGTERM as an orderly shutdown. On other systems the two are not
connected. A process that is Python itself calls `end_with`.

As a command this file is run by its path, isolated (`python -I -S dies_with_parent.py PARENT
COMMAND...`). So it starts in milliseconds, and a process with threads runs no code between fork and
exec. It may import only the standard library. The exit status is that of a shell: 127 for a command
that does not exist, 126 for one that cannot be run.
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


def end_with(parent: int) -> bool:
    """Let SIGTERM end this process when `parent` ends; false if it has ended already."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    return os.getppid() == parent


def main(parent: int, command: Sequence[str]) -> int:
    """Become `command`. Returns an exit status only if that fails."""
    if not end_with(parent):
        return 128 + signal.SIGTERM
    try:
        os.execvp(command[0], list(command))  # noqa: S606 (without a shell)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 (as a shell does)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
