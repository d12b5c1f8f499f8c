"""Writes fields of Kafka's protocol, one after the other; the inverse of `reader`.

A value that its field cannot hold is an error of the caller: `LocalProtocolError` before a byte is
sent. True is not an integer here, because it would pass for broker 1.

Source: the protocol guide of Kafka, "Protocol Primitive Types"; KIP-482.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwise.core.errors import LocalProtocolError
from rackwise.core.wire.reader import MOST_TAGS

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_TEXT = 2**15 - 1


@dataclass(slots=True)
class Writer:
    """The bytes so far. Every method raises `LocalProtocolError` for a value that does not fit."""

    data: bytearray = field(default_factory=bytearray)

    def int16(self, value: int) -> None:
        """Write two bytes, signed."""
        self._integer(value, 2)

    def int32(self, value: int) -> None:
        """Write four bytes, signed."""
        self._integer(value, 4)

    def int64(self, value: int) -> None:
        """Write eight bytes, signed."""
        self._integer(value, 8)

    def int32s(self, values: Sequence[int]) -> None:
        """Write four bytes each, signed, without a count."""
        for value in values:
            self.int32(value)

    def int32_array(self, values: Sequence[int]) -> None:
        """Write a count, then four bytes each, signed."""
        self.int32(len(values))
        self.int32s(values)

    def boolean(self, value: bool) -> None:  # noqa: FBT001 (it is the field)
        """Write one byte, 0 or 1."""
        if not isinstance(value, bool):
            raise LocalProtocolError(f"expected True or False, got {value}", wanted=bool, had=value)
        self.data.append(value)

    def unsigned_varint(self, value: int) -> None:
        """Write one to five bytes, seven bits each, lowest first."""
        if not 0 <= value < 2**32:
            raise LocalProtocolError(
                f"expected an integer from 0 on of 32 bits, got {value}",
                wanted="32 bits",
                had=value,
            )
        while value > 0x7F:  # noqa: PLR2004 (seven bits)
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def text(self, value: str | None, name: str = "text") -> None:
        """Write a text; None is null. `name`: the field, for the error."""
        if value is None:
            self.int16(-1)
            return
        raw = _encoded(value)
        if len(raw) > _MOST_TEXT:
            raise LocalProtocolError(
                f"STRING holds {_MOST_TEXT} bytes; {name} has {len(raw)}",
                wanted=_MOST_TEXT,
                had=len(raw),
            )
        self.int16(len(raw))
        self.data += raw

    def compact_text(self, value: str | None) -> None:
        """Write a compact text; None is null."""
        raw = None if value is None else _encoded(value)
        self.unsigned_varint(0 if raw is None else len(raw) + 1)
        self.data += raw or b""

    def octets(self, value: bytes | None) -> None:
        """Write bytes; None is null."""
        if value is None:
            self.int32(-1)
            return
        self.int32(len(value))
        self.data += value

    def tags(self, fields: Sequence[tuple[int, bytes]] = ()) -> None:
        """Write tagged fields, ascending by tag, each with its size."""
        if len({tag for tag, _ in fields}) < len(fields) or len(fields) > MOST_TAGS:
            raise LocalProtocolError(
                f"expected up to {MOST_TAGS} tags, each once, got {len(fields)}",
                wanted=MOST_TAGS,
                had=len(fields),
            )
        self.unsigned_varint(len(fields))
        for tag, value in sorted(fields):
            self.unsigned_varint(tag)
            self.unsigned_varint(len(value))
            self.data += value

    def raw(self, value: bytes) -> None:
        """Write bytes as they are, without a length."""
        self.data += value

    def _integer(self, value: object, size: int) -> None:
        bound = 1 << 8 * size - 1
        if isinstance(value, bool) or not isinstance(value, int) or not -bound <= value < bound:
            raise LocalProtocolError(
                f"expected an integer of {8 * size} bits, got {value}",
                wanted=f"{8 * size} bits",
                had=value,
            )
        self.data += value.to_bytes(size, "big", signed=True)


def require_version(
    message: str, version: int, *, newest: int, oldest: int = 0, hint: str | None = None
) -> None:
    """Raise `LocalProtocolError` for a version of a message that is not supported here."""
    if type(version) is not int or not oldest <= version <= newest:
        raise LocalProtocolError(
            f"invalid {message} version: expected {oldest} to {newest}, got {version}",
            wanted=f"{oldest} to {newest}",
            had=version,
            hint=hint,
        )


def _encoded(value: str) -> bytes:
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise LocalProtocolError(
            "expected a text of characters, got one with half a surrogate pair",
            wanted="characters",
            had="half a surrogate pair",
        ) from None
