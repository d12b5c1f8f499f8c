"""The JSON of one node of a store, read strictly: what can be meant two ways is refused.

Goals, in order: hostile bytes end in one error that names the path; nothing ambiguous is let
through; a topic of 10 000 partitions costs a few times what the standard parser takes.

Refused are: more bytes than the cap of the kind of node, any encoding but UTF-8, a byte order mark,
a key twice, NaN and infinities (also as 1e400), integers over 64 bit, half a surrogate pair, depth
over 64, a document that is no object. The depth is known before the parser recurses: escaped quotes
go, then what stands between quotes, then what is no bracket; each round of deleting `[]` takes one
level off.

What this does not do: know the fields of a node (see `nodes`, `topics`).
Source: RFC 8259, RFC 7493 (I-JSON).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from rackwise.core.identity.refusals import MappingCorrupt, StoreCorrupt
from rackwise.core.ids import GREATEST_ID
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 64
SHOWN = 200
"""Bytes of a corrupt node that an error repeats."""

_WIDEST = 2**63
_DIGITS = 20
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LEVELS = bytes.maketrans(b"{}", b"[]")
_LONG = re.compile(rb"[0-9]{19}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"0|[1-9][0-9]{0,9}")


class _Odd(ValueError):
    """The message says what is wanted instead."""


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
        return self.as_ids(name, self.members.get(name))

    def ids_by_number(self, name: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        """An object of number -> broker ids."""
        value = self.members.get(name)
        if not isinstance(value, dict):
            raise self.corrupt(f"{name} as an object")
        for number, ids in value.items():
            if not _NAME.fullmatch(number) or int(number) > GREATEST_ID:
                raise self.corrupt(f"a number as key in {name}")
            yield int(number), self.as_ids(f"{name}.{number}", ids)

    def as_ids(self, name: str, value: object) -> tuple[int, ...]:
        """The value, if it is a list of broker ids."""
        if not isinstance(value, list) or not _are_ids(value):
            raise self.corrupt(f"{name} as a list of broker ids")
        return tuple(value)

    def corrupt(self, wanted: str) -> StoreCorrupt | MappingCorrupt:
        """The error that says what is wanted and what the node holds."""
        return corrupt(self.path, self.data, wanted, self.error)


def read_fields(
    data: bytes,
    *,
    path: str,
    most: int,
    error: type[StoreCorrupt | MappingCorrupt] = StoreCorrupt,
) -> Fields:
    """The object that is a node's content; `most`: bytes. Raises `error`."""
    if len(data) > most:
        raise corrupt(path, data, f"at most {most} bytes", error)
    try:
        members = _parsed(data)
    except _Odd as odd:
        raise corrupt(path, data, str(odd), error) from None
    return Fields(path=path, data=data, members=members, error=error)


def corrupt(
    path: str, data: bytes, wanted: str, error: type[StoreCorrupt | MappingCorrupt]
) -> StoreCorrupt | MappingCorrupt:
    """An error for a node: its path, what is wanted, and its first bytes escaped."""
    had = escaped(data[:SHOWN].decode("utf-8", "backslashreplace")) or "nothing"
    if len(data) > SHOWN:
        had += f"... ({len(data)} bytes)"
    place = escaped(path)
    return error(
        f"{place}: {wanted} is wanted; {had} was read", wanted=wanted, had=had, where=place
    )


def _is_within(value: object, least: int, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _are_ids(values: list[Any]) -> bool:
    if set(map(type, values)) - {int}:
        return False
    return not values or (min(values) >= 0 and max(values) <= GREATEST_ID)


def _parsed(data: bytes) -> dict[str, Any]:
    """The one object. Raises `_Odd`."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise _Odd("UTF-8") from None
    _check_depth(data)
    try:
        value = (_WARY if _LONG.search(data) else _DECODER).decode(text)
    except json.JSONDecodeError:
        raise _Odd("one JSON object") from None
    if not isinstance(value, dict):
        raise _Odd("one JSON object")
    if "\\u" in text:
        _check_texts(value)
    return value


def _check_depth(data: bytes) -> None:
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = b"".join(data.split(b'"')[::2]).translate(_LEVELS, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        raise _Odd(f"whole JSON of at most {MAX_DEPTH} levels")


def _check_texts(value: object) -> None:
    """Half a surrogate pair has no UTF-8: only an escape can bring one in."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_texts(key)
            _check_texts(item)
    elif isinstance(value, list):
        for item in value:
            _check_texts(item)
    elif isinstance(value, str) and _SURROGATE.search(value):
        raise _Odd("whole surrogate pairs")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Odd("every key once")
    return members


def _integer(text: str) -> int:
    if len(text) <= _DIGITS and -_WIDEST <= int(text) < _WIDEST:
        return int(text)
    raise _Odd("integers of 64 bits")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Odd("finite numbers")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_float=_finite, parse_constant=_finite
)
_WARY = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=_integer, parse_float=_finite, parse_constant=_finite
)
"""Looks at every integer too: for what has long ones."""
