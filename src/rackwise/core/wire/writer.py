"""Fields of Kafka's protocol, written one after the other; what `reader` reads.

A value that its field cannot hold is our own fault: `LocalProtocolError` before a byte is sent.

Source: the protocol guide of Kafka, "Protocol Primitive Types".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rackwise.core.errors import LocalProtocolError


@dataclass(slots=True)
class Writer:
    """Bytes so far. Every method raises `LocalProtocolError` for a value that does not fit."""

    data: bytearray = field(default_factory=bytearray)

    def int16(self, value: int) -> None:
        """Two bytes, signed."""
        self._integer(value, 2)

    def int32(self, value: int) -> None:
        """Four bytes, signed."""
        self._integer(value, 4)

    def text(self, value: str | None) -> None:
        """A text; None is null."""
        if value is None:
            self.int16(-1)
            return
        try:
            raw = value.encode("utf-8")
        except UnicodeEncodeError:
            raise LocalProtocolError(
                "a text of characters is wanted; one with half a surrogate pair was given",
                wanted="characters",
                had="half a surrogate pair",
            ) from None
        self.int16(len(raw))
        self.data += raw

    def octets(self, value: bytes | None) -> None:
        """Bytes; None is null."""
        if value is None:
            self.int32(-1)
            return
        self.int32(len(value))
        self.data += value

    def raw(self, value: bytes) -> None:
        """Bytes as they are, without a length."""
        self.data += value

    def _integer(self, value: int, size: int) -> None:
        try:
            self.data += value.to_bytes(size, "big", signed=True)
        except OverflowError:
            raise LocalProtocolError(
                f"an integer of {8 * size} bits is wanted; {value} was given",
                wanted=f"{8 * size} bits",
                had=value,
            ) from None
