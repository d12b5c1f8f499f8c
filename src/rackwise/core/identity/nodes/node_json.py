"""The JSON of one node of a store: questions to its fields, and one error that names the node.

The error repeats the first bytes of the node, escaped: what is corrupt in a store of our own is
mended by hand, by somebody who must see it.

What this does not do: parse (see `core.json.strict`); know the fields of a node (see `nodes`,
`topics`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

from rackwise.core.constants import GREATEST_ID
from rackwise.core.identity.refusals import MappingCorrupt, StoreCorrupt
from rackwise.core.json.strict import NotStrict, read_object
from rackwise.core.text import escaped

SHOWN = 200
"""Bytes of a corrupt node that an error repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The members of a node's object, and whose they are.

    Each question raises the error of the node's kind where the answer is not there.
    """

    path: str
    data: bytes
    members: dict[str, Any]
    error: type[StoreCorrupt | MappingCorrupt] = StoreCorrupt

    def number(self, name: str, *, least: int = 0, most: int = GREATEST_ID) -> int:
        """An integer within bounds; true and 1.0 are none."""
        value = self.members.get(name)
        if not _is_within(value, least, most):
            raise self.corrupt(f"{name} from {least} to {most}")
        return value

    def text(self, name: str) -> str:
        """A text that is not empty."""
        value = self.members.get(name)
        if not isinstance(value, str) or not value:
            raise self.corrupt(f"{name} as text")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.members.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.corrupt(f"{name} as a list of texts")
        return tuple(value)

    def ids(self, name: str) -> tuple[int, ...]:
        """A list of broker ids."""
        value = self.members.get(name)
        if not isinstance(value, list) or not _are_ids(value):
            raise self.corrupt(f"{name} as a list of broker ids")
        return tuple(value)

    def corrupt(self, wanted: str) -> StoreCorrupt | MappingCorrupt:
        """The error that says what is expected and what the node holds."""
        return corrupt(self.path, self.data, wanted, self.error)


def read_fields(
    data: bytes,
    *,
    path: str,
    most: int,
    error: type[StoreCorrupt | MappingCorrupt] = StoreCorrupt,
) -> Fields:
    """The object that is a node's content; `most`: bytes. Raises `error`."""
    try:
        members = read_object(data, most=most)
    except NotStrict as odd:
        raise corrupt(path, data, odd.wanted, error) from None
    return Fields(path=path, data=data, members=members, error=error)


def corrupt(
    path: str, data: bytes, wanted: str, error: type[StoreCorrupt | MappingCorrupt]
) -> StoreCorrupt | MappingCorrupt:
    """An error for a node: its path, what is expected, and its first bytes escaped."""
    had = escaped(data[:SHOWN].decode("utf-8", "backslashreplace")) or "nothing"
    if len(data) > SHOWN:
        had += f"... ({len(data)} bytes)"
    place = escaped(path)
    return error(
        f"invalid {place}: expected {wanted}, got {had}", wanted=wanted, had=had, where=place
    )


def _is_within(value: object, least: int, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _are_ids(values: list[Any]) -> bool:
    if set(map(type, values)) - {int}:
        return False
    return not values or (min(values) >= 0 and max(values) <= GREATEST_ID)
