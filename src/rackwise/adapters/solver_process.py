"""The solver of flows in a process of its own, which ends at a given time.

While ortools searches a flow it runs no Python: no callback, thread or signal handler ends it. The
operating system ends a process.

```
this process                         the other one
arcs and supplies, by a pipe ─────>  cheapest_flow
waits until the time, kills  <─────  the flow, by a pipe
```

A small network is solved here, in less time than a process needs to start. Where the other process
rejects a network, it sends the error instead of the flow. It ends with this process, however this
one ends; where the system cannot do that, it ends soon after the time.

What this does not do: end anything but a flow.

Source: setitimer(2): the signal of a timer ends a process that does not handle it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from rackwise.adapters.dies_with_parent import end_with
from rackwise.core.errors import (
    MissingDependency,
    NoFlow,
    OptimumTooLarge,
    RackwiseError,
    WorldError,
)
from rackwise.core.json.strict import read_object
from rackwise.core.solver import FlowStopped, Network, cheapest_flow
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MOST_ARCS_HERE = 100_000
"""Arcs of a network that is solved in this process: some tenths of a second."""
LATE_S = 1.0
"""The other process ends itself so long after its time, if this one was killed."""
COLUMNS = ("tails", "heads", "capacities", "costs", "supplies")
"""The fields of a network, in the order in which they are sent as int64."""


REJECTED = 65
"""Exit code of the other process where the solver raised one of `ERRORS`."""
ERRORS: dict[str, type[RackwiseError]] = {
    kind.__name__: kind for kind in (MissingDependency, NoFlow, OptimumTooLarge)
}
"""The errors of the solver, by name."""


def solver_until(end_s: float) -> Callable[[Network], NDArray[np.int64]]:
    """`cheapest_flow`, which raises `FlowStopped` at `end_s` of the monotonic clock.

    It also raises `WorldError` if the other process fails or is killed.
    """
    return partial(_flow_until, end_s)


def _flow_until(end_s: float, network: Network) -> NDArray[np.int64]:
    if len(network.tails) <= MOST_ARCS_HERE:
        return cheapest_flow(network)
    left_s = max(0.0, end_s - time.monotonic())
    numbers = (os.getpid(), len(network.tails), len(network.supplies), left_s + LATE_S)
    command = [sys.executable, "-P", "-m", __spec__.name, *map(str, numbers)]
    with (
        TemporaryFile() as stderr,
        subprocess.Popen(  # noqa: S603 (this interpreter, and numbers)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        ) as process,
    ):
        clock = threading.Timer(left_s, process.kill)
        clock.daemon = True
        try:
            clock.start()
            data = _exchange(process, network)
            code = process.wait()
        finally:
            process.kill()
            clock.cancel()
        if code == 0:
            return np.frombuffer(data, dtype=np.int64)
        if code == REJECTED:
            raise _parse_error(data)
        if code < 0 and time.monotonic() >= end_s:
            raise FlowStopped
        stderr.seek(0)
        raise _failure(code, stderr.read())


def _failure(code: int, stderr: bytes) -> WorldError:
    """The error of a process that ended with neither a flow nor an error of the solver."""
    if code < 0:
        return WorldError(
            f"the process that searches was ended by signal {-code}",
            had=code,
            hint="it may have needed more memory than is free; omit --time-limit, or plan for "
            "fewer topics",
        )
    lines = stderr.decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "no message")
    return WorldError(
        f"the process that searches ended with exit code {code}: {escaped(last)}",
        had=code,
        hint="omit --time-limit to search without this process",
    )


def _exchange(process: subprocess.Popen[bytes], network: Network) -> bytes:
    """Send a network, and return the answer; empty if the other process ended without one."""
    stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    with suppress(BrokenPipeError):
        for column in COLUMNS:
            stdin.write(np.ascontiguousarray(getattr(network, column), dtype=np.int64).data)
        stdin.close()
    return stdout.read()


def main(parent: int, arcs: int, nodes: int, most_s: float) -> int:
    """Solve the network on stdin, for at most so many seconds; write its flow to stdout.

    `parent`: the process that has started this one, which ends with it. Returns the exit code.
    """
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, most_s)
    if not end_with(parent):
        return 128 + signal.SIGTERM
    sizes = [nodes if each == "supplies" else arcs for each in COLUMNS]
    try:
        # No other name for the columns: the solver copies them, and they are freed.
        flow = cheapest_flow(
            Network(
                **{
                    name: _column(sys.stdin.buffer, size)
                    for name, size in zip(COLUMNS, sizes, strict=True)
                }
            )
        )
    except tuple(ERRORS.values()) as error:
        sys.stdout.write(json.dumps(error.as_dict()))
        return REJECTED
    sys.stdout.buffer.write(flow.data)
    return 0


def _parse_error(data: bytes) -> RackwiseError:
    """The error of the solver that the other process has written."""
    fields = read_object(data, most=len(data))
    kind, message = ERRORS[fields.pop("error")], fields.pop("message")
    return kind(message, **fields)


def _column(stream: IO[bytes], size: int) -> NDArray[np.int64]:
    return np.frombuffer(stream.read(size * np.dtype(np.int64).itemsize), dtype=np.int64)


if __name__ == "__main__":
    started_by, arc_count, node_count = map(int, sys.argv[1:4])
    sys.exit(main(started_by, arc_count, node_count, float(sys.argv[4])))
