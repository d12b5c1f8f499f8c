"""Spark's daemon of Python workers, silent about workers that are stopped because they are idle.

Spark starts this module in place of `pyspark.daemon`, of which it changes one function. After a
minute without a task, Spark closes the socket of a worker. The worker ends, and still writes to the
socket. With a Unix domain socket this fails, and `pyspark.daemon` prints a traceback for each
worker, although nothing is lost:

```
Spark    close socket                              (idle for a minute)
worker   read: end of file -> write the reason -> BrokenPipeError -> end, silently
```

A worker that has a task and loses its socket ends in the same way; Spark reports the lost task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark import daemon

if TYPE_CHECKING:
    import socket

_work = daemon.worker


def work(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001 (as Spark calls it)
    """Run tasks until the socket is closed; returns the exit code of the worker."""
    try:
        code: int = _work(sock, authenticated)
    except BrokenPipeError:
        return 1
    return code


if __name__ == "__main__":
    daemon.worker = work
    daemon.manager()
