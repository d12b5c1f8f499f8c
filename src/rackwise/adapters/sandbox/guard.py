"""The guard of one server: starts it, forwards signals, and kills it when the parent is gone.

A test run that is killed with SIGKILL cannot clean up. Each server is therefore the child of a
guard. The guard holds the read end of a pipe whose write end exists only in the parent:

```
parent ──stdin pipe──> guard ──fork──> java        own process groups: Ctrl-C reaches neither
       <──pid line───
```

The parent writes one signal number per line. The guard kills the whole process group of the server
when the pipe closes (the parent ended for any reason), or when its own parent changed (another
process inherited the pipe and keeps it open). On Linux the kernel kills the server when the guard
itself is killed. The guard ends with the exit status of the server, 128 + n after signal n.

The file is run by path, alone and isolated (`python -I -S guard.py COMMAND...`), so it starts in
milliseconds; it must import only the standard library.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
PARENT_CHECK_S = 1.0
STDIN, STDOUT, STDERR = 0, 1, 2


def main(command: Sequence[str]) -> int:
    """Run `command` until it or the parent ends; return its exit status."""
    parent = os.getppid()
    wakeup, wakeup_end = os.pipe()
    os.set_blocking(wakeup_end, False)
    signal.set_wakeup_fd(wakeup_end)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    guard = os.getpid()
    server = subprocess.Popen(  # noqa: S603 (the parent's command)
        command,
        stdin=subprocess.DEVNULL,
        stdout=STDERR,
        process_group=0,
        preexec_fn=lambda: _die_with(guard),  # noqa: PLW1509 (one thread, so the fork is safe)
    )
    os.write(STDOUT, b"%d\n" % server.pid)
    os.close(STDOUT)
    _watch(server, parent, wakeup)
    status = server.wait()
    return status if status >= 0 else 128 - status


def _watch(server: subprocess.Popen[bytes], parent: int, wakeup: int) -> None:
    """Return when the server has ended, or was asked to end."""
    while server.poll() is None:
        readable, _, _ = select.select([STDIN, wakeup], [], [], PARENT_CHECK_S)
        if wakeup in readable:
            os.read(wakeup, 4096)
        asked = os.read(STDIN, 4096) if STDIN in readable else None
        if asked == b"" or os.getppid() != parent:
            _signal(server, signal.SIGKILL)
            return
        for number in (asked or b"").split():
            _signal(server, int(number))


def _signal(server: subprocess.Popen[bytes], number: int) -> None:
    """Signal the whole group. The id is still ours, because the server is not reaped yet."""
    if server.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, number)


def _die_with(guard: int) -> None:
    """In the child: let the kernel kill it when the guard dies (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
