"""Free TCP ports of the loopback interface for servers that start a moment later.

The kernel gives ports of one range to outgoing connections (`ip_local_port_range`, 32768 to 60999
on most machines). Such a port may be taken between the choice and the start of the server, and also
while a server restarts. So ports are drawn below that range, where no outgoing connection is. Where
the range is not known, or leaves too few ports, the kernel chooses.

What this does not do: reserve a port. Another server may still take it.
"""

from __future__ import annotations

import errno
import secrets
import socket
from contextlib import ExitStack
from pathlib import Path

HOST = "127.0.0.1"
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST = 10_240
"""Servers such as Kafka, ZooKeeper and Prometheus listen below by default."""
FEW = 1000
"""With fewer ports than these, two processes are likely to draw the same one."""


def free_ports(count: int) -> list[int]:
    """Different ports that were free a moment ago."""
    drawn = _drawn_ports()
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            while not _is_bound(each, drawn.pop() if drawn else 0):
                pass
        return [each.getsockname()[1] for each in sockets]


def is_open(port: int, *, host: str = HOST, timeout_s: float = 1.0) -> bool:
    """Whether something accepts connections at `host:port`."""
    try:
        with socket.create_connection((host, port), timeout_s):
            return True
    except OSError:
        return False


def _drawn_ports() -> list[int]:
    """The ports below those of outgoing connections, in a random order; empty if there are few."""
    try:
        end = int(RANGE.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return []
    ports = list(range(FIRST, end))
    secrets.SystemRandom().shuffle(ports)
    return ports if len(ports) >= FEW else []


def _is_bound(own: socket.socket, port: int) -> bool:
    """Bind a socket; False if the port is in use. 0: the kernel chooses."""
    try:
        own.bind((HOST, port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE or not port:
            raise
        return False
    return True
