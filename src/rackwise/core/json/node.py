"""A value of a JSON document with the path to it: what a file format is read through.

Each accessor gives the value when it is what was asked for, else records a fault and gives a
harmless stand-in, so that one reading finds all faults. JSON's `true` is no number here, though
Python's is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwise.core.json.declare import ID_HINT, MAX_ID, NAME_HINT
from rackwise.core.json.faults import Fault, Faults, quoted
from rackwise.core.json.strict import Json, key_path, parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

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

    def members(
        self, required: Collection[str], optional: Collection[str] = ()
    ) -> dict[str, JsonNode]:
        """The members of an object that has the required keys and no unknown ones.

        Each known key is in the result; one that is missing is null there, and if it was required
        its fault is recorded once.
        """
        if not isinstance(self.value, dict):
            self.wrong("an object")
            return self._nulls((*required, *optional))
        found = {
            key: JsonNode(value, self.faults, self, key)
            for key, value in self.value.items()
            if key in required or key in optional
        }
        for key in self.value if len(found) < len(self.value) else ():
            if key not in found:
                self.unknown(key, (*required, *optional))
        if len(found) == len(required) + len(optional):
            return found
        for key in required:
            if key not in found:
                self.missing(key)
        return self._nulls((*required, *optional)) | found

    def _nulls(self, keys: Collection[str]) -> dict[str, JsonNode]:
        """Nulls in the place of members; their faults are not recorded again."""
        ignored = Faults(self.faults.file, self.faults.error)
        return {key: JsonNode(None, ignored, self, key) for key in keys}

    def missing(self, key: str) -> None:
        """Record that an object lacks a key."""
        self.faults.missing(self.path, key, self.value)

    def unknown(self, key: str, known: Collection[str]) -> None:
        """Record that an object has a key that is not one of its format."""
        self.faults.unknown(self.path, key, known)

    def entries(self) -> Iterator[tuple[str, JsonNode]]:
        """Keys and values of an object whose keys are names of the user's."""
        if not isinstance(self.value, dict):
            self.wrong("an object")
            return
        for key in self.value:
            if not key or CONTROL.search(key):
                wanted = "a name without control characters"
                self.faults.wrong(self.path, wanted, key, hint=NAME_HINT)
            yield key, JsonNode(self.value[key], self.faults, self, key)

    def items(self, wanted: str = "a list") -> list[JsonNode]:
        """The items of a list."""
        if not isinstance(self.value, list):
            self.wrong(wanted)
            return []
        return [JsonNode(item, self.faults, self, index) for index, item in enumerate(self.value)]

    def integer(
        self, wanted: str, low: int = 0, high: int = 2**63 - 1, *, hint: str | None = None
    ) -> int:
        """An integer of `low..high`."""
        if type(self.value) is int and low <= self.value <= high:
            return self.value
        self.wrong(wanted, hint=hint)
        return low

    def number(
        self, wanted: str, low: float = 0.0, high: float = 2.0**63, *, hint: str | None = None
    ) -> float:
        """A number of `low..high`, with a point or without."""
        if type(self.value) in {int, float} and low <= self.value <= high:
            return float(self.value)
        self.wrong(wanted, hint=hint)
        return low

    def broker_id(self) -> int:
        """A broker id, 0..2^31-1."""
        return self.integer("a broker id", 0, MAX_ID, hint=ID_HINT)

    def size(self, wanted: str = "a size in bytes or null", low: int = 0) -> int | None:
        """A number of bytes, or None for null."""
        return None if self.value is None else self.integer(wanted, low)

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.wrong("true or false")
        return self.value is True

    def text(self, wanted: str = "a text") -> str:
        """Any text, empty or with control characters too: what clients call themselves."""
        if isinstance(self.value, str):
            return self.value
        self.wrong(wanted)
        return ""

    def optional_text(self) -> str | None:
        """Any text, or None for null."""
        return None if self.value is None else self.text("a text or null")

    def name(self, wanted: str = "a name without control characters") -> str:
        """A text that is not empty and holds no control character."""
        if isinstance(self.value, str) and self.value and not CONTROL.search(self.value):
            return self.value
        self.wrong(wanted, hint=NAME_HINT)
        return ""

    def optional_name(self) -> str | None:
        """A name, or None for null."""
        return (
            None if self.value is None else self.name("a name without control characters, or null")
        )


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
