"""Fields of Kafka's protocol, read one after the other off bytes that somebody else wrote.

All integers are big-endian. Texts carry their length in two bytes, arrays and bytes in four.

```
0003            int16 3
0001 74         text "t"        ffff        null text
00000002 0102   bytes           ffffffff    null bytes
00000001 ...    array of 1
```

A negative length is null where null may be. A count is held against the bytes that are left before
anything is made, so that no message makes a reader allocate more than it brought.

Errors say the offset, never the bytes: they may be somebody's data.

Source: the protocol guide of Kafka, "Protocol Primitive Types".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.errors import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class Reader:
    """A place in bytes. Every method raises `RemoteProtocolError` where the field is not there."""

    data: bytes
    offset: int = 0

    def int16(self) -> int:
        """Two bytes, signed."""
        return self._integer(2)

    def int32(self) -> int:
        """Four bytes, signed."""
        return self._integer(4)

    def text(self) -> str:
        """A text that must not be null."""
        start = self.offset
        found = self.nullable_text()
        if found is None:
            raise _wrong(start, "a text", "null")
        return found

    def nullable_text(self) -> str | None:
        """A text, or None for any negative length."""
        length = self.int16()
        if length < 0:
            return None
        start = self.offset
        raw = self._take(length)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _wrong(start + error.start, "UTF-8", "another byte") from None

    def nullable_octets(self) -> bytes | None:
        """Bytes, or None for any negative length."""
        length = self.int32()
        return None if length < 0 else self._take(length)

    def count(self, least: int) -> int:
        """How many elements of at least `least` bytes each follow."""
        start = self.offset
        found = self.int32()
        left = len(self.data) - self.offset
        if not 0 <= found * least <= left:
            raise _wrong(start, f"a count from 0 to {left // least}", found)
        return found

    def is_at(self, mark: bytes) -> bool:
        """Whether these bytes come next; they are passed over if so."""
        if not self.data.startswith(mark, self.offset):
            return False
        self.offset += len(mark)
        return True

    def end(self, read: Callable[[Reader], object]) -> int | None:
        """The offset after what `read` reads from here, which stays here; None where it cannot."""
        ahead = Reader(self.data, self.offset)
        try:
            read(ahead)
        except RemoteProtocolError:
            return None
        return ahead.offset

    def _integer(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def _take(self, size: int) -> bytes:
        end = self.offset + size
        if end > len(self.data):
            raise _wrong(self.offset, f"{size} more bytes", len(self.data) - self.offset)
        found = self.data[self.offset : end]
        self.offset = end
        return found


def _wrong(offset: int, wanted: str, had: object) -> RemoteProtocolError:
    return RemoteProtocolError(
        f"offset {offset}: {wanted} is wanted; {had} was read",
        offset=offset,
        wanted=wanted,
        had=had,
    )
