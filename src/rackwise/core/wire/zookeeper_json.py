"""JSON nodes of ZooKeeper that Kafka writes: what was received, its errors, and writing.

```
invalid /brokers/ids/7: offset 31: key "rack" appears twice
invalid /brokers/ids/7 at $.endpoints[1]: expected NAME://host:port, got "SSL:host1"
```

Errors show the value that is wrong, escaped and cut, never the rest of the node. The offset of a
value that is absent is that of the object which lacks it.

What this does not do: know the members of a node (see `registration`, `topic_node`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rackwise.core.errors import InputError, LocalProtocolError, RemoteProtocolError
from rackwise.core.json.faults import Fault, Faults, shown_value
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import NotStrict, key_path, offset_of, read_object
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.json.forms import Form
    from rackwise.core.json.strict import Json

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class ReceivedNode:
    """A node that was received: its path, its bytes and its object, and the faults found in it."""

    __slots__ = ("data", "faults", "members", "path", "root")

    def __init__(self, path: str, data: bytes, *, most: int) -> None:
        """Parse the data. Raises `RemoteProtocolError`, also for more than `most` bytes."""
        try:
            self.members = read_object(data, most=most)
        except NotStrict as odd:
            place = escaped(path)
            raise RemoteProtocolError(
                f"invalid {place}: offset {odd.offset}: {odd.told}",
                offset=odd.offset,
                wanted=odd.wanted,
                where=place,
            ) from None
        self.path = path
        self.data = data
        self.faults = Faults(path, InputError)
        self.root = JsonNode(self.members, self.faults)

    def read(self, form: Form) -> Any:  # noqa: ANN401 (of the form's type)
        """Read the object. Raises `RemoteProtocolError` for the first fault."""
        value = form.read(self.root)
        if self.faults.first is not None:
            raise self._error(self.faults.first)
        return value

    def wrong(self, *steps: str | int, wanted: str) -> RemoteProtocolError:
        """Build the error of the value that these keys and indexes lead to; absent is null."""
        node = self._at(steps)
        return self.error(
            *steps, sentence=f"expected {wanted}, got {shown_value(node.value)}", wanted=wanted
        )

    def error(self, *steps: str | int, sentence: str, wanted: str) -> RemoteProtocolError:
        """Build an error in other words."""
        return self._error(Fault(place=self._at(steps).path, sentence=sentence, wanted=wanted))

    def _at(self, steps: tuple[str | int, ...]) -> JsonNode:
        node = self.root
        for step in steps:
            value = node.value.get(step) if isinstance(node.value, dict) else node.value[step]
            node = JsonNode(value, self.faults, node, step)
        return node

    def _error(self, fault: Fault) -> RemoteProtocolError:
        """Build the error of a fault. It counts the other faults that were recorded."""
        others = max(self.faults.count - 1, 0)
        more = f" (and {others} more fault{'s' if others > 1 else ''})" if others else ""
        place = escaped(self.path)
        return RemoteProtocolError(
            f"invalid {place} at {fault.place}: {fault.sentence}{more}",
            offset=offset_of(self.data, tuple(_steps(self.root.value, fault))),
            wanted=fault.wanted,
            where=f"{place} {fault.place}",
        )


def write_node(members: Mapping[str, object], *, most: int) -> bytes:
    """Write compact JSON in the order of the members.

    Raises `LocalProtocolError` for what could not be read again: values that JSON does not have,
    more than `most` bytes.
    """
    try:
        data = _ENCODER.encode(members).encode()
        read_object(data, most=most)
    except (NotStrict, TypeError, ValueError, RecursionError) as error:
        raise LocalProtocolError(
            f"expected strict JSON, got a value that breaks it: {error}", wanted="strict JSON"
        ) from None
    return data


def _steps(value: Json, fault: Fault) -> Iterable[str | int]:
    """The keys and indexes that lead to the place of a fault, as far as they exist."""
    path, place = "$", fault.place
    while path != place:
        children: Iterable[tuple[str | int, Json]] = (
            value.items() if isinstance(value, dict) else enumerate(value)
        )
        for step, child in children:
            below = f"{path}[{step}]" if isinstance(step, int) else key_path(path, step)
            if place == below or place.startswith((f"{below}.", f"{below}[")):
                path, value = below, child
                yield step
                break
        else:
            return
