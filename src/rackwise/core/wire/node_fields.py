"""A node of ZooKeeper that others wrote: its JSON object, and errors that say where it is wrong.

```
/brokers/ids/7: offset 31: key "rack" appears twice
/brokers/ids/7 $.endpoints[1]: expected NAME://host:port, got "SSL:host1"
```

Errors show the value that is wrong, escaped and cut, never the rest of the node. The offset of a
value that is not there is that of the object which lacks it.

What this does not do: know the fields of a node (see `registration`, `topic_node`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.json.strict import NotStrict, offset_of, read_object
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = 60
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class NodeFields(NamedTuple):
    """The members of a node's object, the node's path and its bytes."""

    path: str
    data: bytes
    members: dict[str, Any]

    def wrong(self, *steps: str | int, wanted: str) -> RemoteProtocolError:
        """The error of the value that these keys and indexes lead to."""
        found: Any = self.members
        for step in steps:
            found = found.get(step) if isinstance(found, dict) else found[step]
        return self.error(*steps, told=f"expected {wanted}, got {shown(found)}", wanted=wanted)

    def error(self, *steps: str | int, told: str, wanted: str) -> RemoteProtocolError:
        """An error in words of its own."""
        where = f"{escaped(self.path)} ${''.join(map(_step, steps))}"
        return RemoteProtocolError(
            f"{where}: {told}", offset=offset_of(self.data, steps), wanted=wanted, where=where
        )


def read_node(path: str, data: bytes, *, most: int) -> NodeFields:
    """The object of a node of at most `most` bytes. Raises `RemoteProtocolError`."""
    try:
        members = read_object(data, most=most)
    except NotStrict as odd:
        place = escaped(path)
        raise RemoteProtocolError(
            f"{place}: offset {odd.offset}: {odd.told}",
            offset=odd.offset,
            wanted=odd.wanted,
            where=place,
        ) from None
    return NodeFields(path, data, members)


def write_node(members: Mapping[str, object], *, most: int) -> bytes:
    """Compact JSON in the order of the members. Raises `LocalProtocolError`.

    That is raised for whatever would not be read again: values that JSON has not, more than `most`
    bytes.
    """
    try:
        data = _ENCODER.encode(members).encode()
        read_object(data, most=most)
    except (NotStrict, TypeError, ValueError, RecursionError) as error:
        raise LocalProtocolError(
            f"expected strict JSON, got a value that breaks it: {error}", wanted="strict JSON"
        ) from None
    return data


def shown(value: object) -> str:
    """A value as JSON for an error, escaped and cut."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = escaped(_ENCODER.encode(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _step(step: str | int) -> str:
    return f"[{step}]" if isinstance(step, int) else f".{escaped(step)[:_SHOWN]}"
