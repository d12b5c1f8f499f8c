"""Reports readiness to the service manager: sd_notify of systemd, one datagram.

Source: sd_notify(3): `READY=1` to the socket of NOTIFY_SOCKET. A name that begins with `@` is in
the abstract namespace of Linux.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

READY = "READY=1"
SEND_S = 5.0


def notify(state: str, environment: Mapping[str, str]) -> bool:
    """Send a state; return whether it was received. False also if NOTIFY_SOCKET is not set.

    A manager that does not listen does not stop a running broker.
    """
    address = environment.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
        out.settimeout(SEND_S)
        try:
            out.sendto(state.encode(), address)
        except (OSError, ValueError):
            return False
    return True
