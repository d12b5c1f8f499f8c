"""Tell the service manager that the broker serves: systemd's sd_notify, one datagram.

Source: sd_notify(3), `READY=1` to the socket that NOTIFY_SOCKET names; a name that begins with `@`
is in Linux' abstract space.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

READY = "READY=1"
SEND_S = 5.0


def notify(state: str, environment: Mapping[str, str]) -> bool:
    """Send a state; whether somebody took it. False too where nobody asked for it.

    A manager that does not listen is no reason to end a broker that serves.
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
