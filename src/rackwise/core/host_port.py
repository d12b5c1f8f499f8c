"""`HOST:PORT` in text: the address of a broker or of a service, by one rule for files and options.

The host is any printable text without blanks and commas, because a comma parts a list of them. An
IPv6 address may have brackets. What this does not do: know whether the host exists.
"""

from __future__ import annotations

MOST_HOST = 255
"""Characters of a host name (RFC 1035)."""
PORT_END = 2**16
_MAX_DIGITS = len(str(PORT_END))


def host_and_port(text: str, *, least_port: int = 1) -> tuple[str, int] | None:
    """The host without brackets, and the port; None for a text that is not `HOST:PORT`.

    `least_port`: 0 where the system may choose the port.

    >>> host_and_port("kafka-1.internal:9092"), host_and_port("[::1]:9092")
    (('kafka-1.internal', 9092), ('::1', 9092))
    >>> host_and_port("kafka 1:9092") is host_and_port("kafka-1:65536") is None
    True
    """
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not 0 < len(host) <= MOST_HOST or not host.isprintable() or " " in host or "," in host:
        return None
    if not (port.isascii() and port.isdigit() and len(port) <= _MAX_DIGITS):
        return None
    return (host, int(port)) if least_port <= int(port) < PORT_END else None
