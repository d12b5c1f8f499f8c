r"""The endpoint of a listener, `NAME://host:port`, and its protocol.

```
SSL://host1:9093               listener SSL, host host1
PLAINTEXT://[::1]:9092         an IPv6 address is in brackets, and is kept without them
CLIENT://:9092                 no host: every address of the machine
```

A text is read by Kafka's own pattern, `^(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)$`. Names of
listeners become upper case, hosts keep their case. The text does not hold the protocol of a
listener: a map from names to protocols does. If a node has no such map, the name of the listener is
the name of the protocol.

What this does not do: resolve a host; say which listener brokers use among themselves.

Source: KIP-103, kafka.cluster.EndPoint, ListenerName.normalised, SecurityProtocol.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeGuard, TypeVar

from rackwise.core.errors import LocalProtocolError
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Mapping

INT16 = 1 << 15
INT32 = 1 << 31
INT64 = 1 << 63
"""Bounds of Kafka's integers: `-INT64 <= value < INT64`."""

Value = TypeVar("Value")

_PORT_CHARACTERS = 11
_put = object.__setattr__
_BREAKS = "\n\r\x85\u2028\u2029"
_TEXT = re.compile(rf"([^{_BREAKS}]*?)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


class SecurityProtocol(IntEnum):
    """The protocol of a listener; the numbers are those of Kafka's binary formats.

    TRACE existed in the releases before 0.10.1, for tests.
    """

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3
    TRACE = 32767


PROTOCOLS: Mapping[str, SecurityProtocol] = {each.name: each for each in SecurityProtocol}
"""Protocol by name: also the listeners of a node that has no map of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One listener of a broker.

    Raises `LocalProtocolError` for a port that its field cannot hold.
    """

    listener: str
    protocol: SecurityProtocol
    host: str | None
    """None = every address of the machine."""
    port: int
    """32 bits."""

    def __post_init__(self) -> None:
        check_width("port", self.port, INT32)

    @override
    def __str__(self) -> str:
        host = self.host or ""
        return f"{self.listener}://{f'[{host}]' if ':' in host else host}:{self.port}"


class EndpointText(NamedTuple):
    """The parts of the text of an endpoint: all but the protocol."""

    listener: str
    host: str | None
    port: int


def read_endpoint(text: str) -> EndpointText | None:
    """Parse `NAME://host:port`, the name to upper case; None = the text is not an endpoint.

    >>> read_endpoint("client://[::1]:9092")
    EndpointText(listener='CLIENT', host='::1', port=9092)
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    listener, host, digits = found.groups()
    port = int(digits) if len(digits) <= _PORT_CHARACTERS else INT32
    return EndpointText(listener.upper(), host or None, port) if -INT32 <= port < INT32 else None


def as_checked(kind: type[Value], /, **fields: object) -> Value:
    """Build a frozen dataclass whose fields a reader has checked already, all of them."""
    made = object.__new__(kind)
    for name, value in fields.items():
        _put(made, name, value)
    return made


def fits(value: object, bound: int) -> TypeGuard[int]:
    """Return whether a value is an integer of `INT16`, `INT32` or `INT64`; booleans are not."""
    return type(value) is int and -bound <= value < bound


def check_width(name: str, value: object, bound: int) -> None:
    """Raise `LocalProtocolError` for a value that is not an integer of that width."""
    if type(value) is not int or not -bound <= value < bound:
        bits = bound.bit_length()
        raise LocalProtocolError(
            f"invalid {name}: expected an integer of {bits} bits, got {value}",
            wanted=f"{bits} bits",
            had=value,
            where=name,
        )
