"""Free TCP ports of the loopback interface, chosen by the kernel."""

from __future__ import annotations

import socket
from contextlib import ExitStack

HOST = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Different ports that were free a moment ago; another process may still take one."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def is_open(port: int, *, host: str = HOST, timeout_s: float = 1.0) -> bool:
    """Whether something accepts connections at `host:port`."""
    try:
        with socket.create_connection((host, port), timeout_s):
            return True
    except OSError:
        return False
