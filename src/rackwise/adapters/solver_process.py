"""The solver of flows in a process of its own, which ends at a given time.

While ortools searches a flow it runs no Python: no callback, thread or signal handler ends it. The
operating system ends a process.

```
this process                         the other one
arcs and supplies, by a pipe ─────>  cheapest_flow
waits until the time, kills  <─────  the flow, by a pipe
```

A small network is solved here, in less time than a process needs to start. So is one that the other
process rejects, for the sake of its error.

What this does not do: end anything but a flow.

Source: setitimer(2): the signal of a timer ends a process that does not handle it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from rackwise.core.errors import WorldError
from rackwise.core.solver import FlowStopped, Network, cheapest_flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MOST_ARCS_HERE = 100_000
"""Arcs of a network that is solved in this process: some tenths of a second."""
LATE_S = 1.0
"""The other process ends itself so long after its time, if this one was killed."""
COLUMNS = ("tails", "heads", "capacities", "costs", "supplies")
"""The fields of a network, in the order in which they are sent as int64."""


def solver_until(end_s: float) -> Callable[[Network], NDArray[np.int64]]:
    """`cheapest_flow`, which raises `FlowStopped` at `end_s` of the monotonic clock.

    It also raises `WorldError` if the other process is killed.
    """
    return partial(_flow_until, end_s)


def _flow_until(end_s: float, network: Network) -> NDArray[np.int64]:
    if len(network.tails) <= MOST_ARCS_HERE:
        return cheapest_flow(network)
    left_s = max(0.0, end_s - time.monotonic())
    sizes = [str(len(network.tails)), str(len(network.supplies))]
    command = [sys.executable, "-P", "-m", __spec__.name, *sizes, str(left_s + LATE_S)]
    with subprocess.Popen(  # noqa: S603 (this interpreter, and numbers)
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        clock = threading.Timer(left_s, process.kill)
        clock.start()
        data = _exchange(process, network)
    clock.cancel()
    if process.returncode < 0:
        if time.monotonic() >= end_s:
            raise FlowStopped
        raise WorldError(
            f"the process that searches was ended by signal {-process.returncode}",
            had=process.returncode,
            hint="it may have needed more memory than is free; omit --time-limit, or plan for "
            "fewer topics",
        )
    if process.returncode:
        return cheapest_flow(network)
    return np.frombuffer(data, dtype=np.int64)


def _exchange(process: subprocess.Popen[bytes], network: Network) -> bytes:
    """Send a network, and return the answer; empty if the other process ended without one."""
    stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    with suppress(BrokenPipeError):
        for column in COLUMNS:
            stdin.write(np.ascontiguousarray(getattr(network, column), dtype=np.int64).data)
        stdin.close()
    return stdout.read()


def main(arcs: int, nodes: int, most_s: float) -> None:
    """Solve the network on stdin, for at most so many seconds; write its flow to stdout."""
    for number in (signal.SIGALRM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, most_s)
    sizes = [nodes if each == "supplies" else arcs for each in COLUMNS]
    # No other name for the columns: the solver copies them, and they are freed.
    flow = cheapest_flow(
        Network(
            **{
                name: _column(sys.stdin.buffer, size)
                for name, size in zip(COLUMNS, sizes, strict=True)
            }
        )
    )
    sys.stdout.buffer.write(flow.data)


def _column(stream: IO[bytes], size: int) -> NDArray[np.int64]:
    return np.frombuffer(stream.read(size * np.dtype(np.int64).itemsize), dtype=np.int64)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
