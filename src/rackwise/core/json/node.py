"""A value of a JSON document with the path to it: what forms read.

A node knows where faults are recorded. A form that finds another value than it expects records a
fault and continues with a stand-in, so that one reading finds all faults.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwise.core.json.faults import Fault, Faults, quoted
from rackwise.core.json.strict import Json, key_path, parse

if TYPE_CHECKING:
    from collections.abc import Collection

    from rackwise.core.errors import InputError

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
"""C0, DEL, C1: in no name."""

_VERSION = re.compile("[0-9]{1,9}")


class JsonNode:
    """A value, where its faults are recorded, and its place: the node above and the key there."""

    __slots__ = ("above", "faults", "key", "value")

    def __init__(
        self, value: Json, faults: Faults, above: JsonNode | None = None, key: str | int = "$"
    ) -> None:
        self.value = value
        self.faults = faults
        self.above = above
        self.key = key

    @property
    def path(self) -> str:
        """The JSON path, `$.moves[3]`; computed on demand, as only faults need it."""
        if self.above is None:
            return str(self.key)
        if isinstance(self.key, int):
            return f"{self.above.path}[{self.key}]"
        return key_path(self.above.path, self.key)

    def at(self, key: str | int) -> JsonNode:
        """The node of a member or item that exists."""
        return JsonNode(self.value[key], self.faults, self, key)

    def wrong(self, wanted: str, *, hint: str | None = None) -> None:
        """Record that something else is expected here."""
        self.faults.wrong(self.path, wanted, self.value, hint=hint)

    def missing(self, key: str) -> None:
        """Record that an object lacks a key."""
        self.faults.missing(self.path, key, self.value)

    def unknown(self, key: str, known: Collection[str]) -> None:
        """Record that an object has a key that is not one of its format."""
        self.faults.unknown(self.path, key, known)


def document(data: bytes, *, where: str, error: type[InputError], format: str) -> JsonNode:  # noqa: A002 (the key's own name)
    """The root of a document of the format `rackwise.NOUN/N`.

    Raises `error` for text that is no strict JSON, another format, and another version.
    """
    root = JsonNode(parse(data, where=where, error=error), Faults(where, error))
    check_format(root, format)
    return root


def check_format(root: JsonNode, wanted: str) -> None:
    """Refuse a document that is of another format or version: nothing else in it can be judged."""
    had = root.value.get("format") if isinstance(root.value, dict) else None
    if had == wanted:
        return
    noun, _, version = wanted.rpartition("/")
    is_ours = isinstance(had, str) and had.rpartition("/")[0] == noun
    number = had.rpartition("/")[2] if isinstance(had, str) and is_ours else ""
    if _VERSION.fullmatch(number):
        raise root.faults.last(
            Fault(
                place="$.format",
                sentence=f"expected format {version}, got {number}",
                wanted=version,
                had=number,
                hint="upgrade Rackwise, a newer one wrote this file"
                if int(number) > int(version)
                else "write the file again with this Rackwise",
            )
        )
    raise root.faults.last(
        Fault(
            place="$.format",
            sentence=f"expected format {wanted}, got "
            f"{quoted(had) if isinstance(had, str) else 'none'}",
            wanted=wanted,
            had=had,
            hint="is it the right file for this option?",
        )
    )
