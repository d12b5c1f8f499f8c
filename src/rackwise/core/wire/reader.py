"""Reads fields of Kafka's protocol, one after the other, from bytes of another program.

All integers are big-endian. Texts carry their length in two bytes, arrays and bytes in four.

```
0003            int16 3
0001 74         text "t"        ffff        null text
00000002 0102   bytes           ffffffff    null bytes
00000001 ...    array of 1
```

Flexible versions carry length + 1 as an unsigned varint, seven bits a byte, lowest first, and end
in tagged fields, tags ascending.

```
02 74           compact text "t"            00      null
02 ...          compact array of 1          00      null
02 00 01 07 03 00   two tagged fields: 0 of one byte, 3 of none
```

A negative length is null if null is permitted. A count is compared with the remaining bytes before
anything is allocated, so no message can make a reader allocate more than it contains.

Errors name the offset, never the bytes, which may be private data.

Source: the protocol guide of Kafka, "Protocol Primitive Types"; KIP-482.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.errors import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_TAGS = 64
_VARINT_BYTES = 5
_VARINT_BITS = 32


@dataclass(slots=True)
class Reader:
    """A position in bytes. Every method raises `RemoteProtocolError` for an invalid field."""

    data: bytes
    offset: int = 0

    @property
    def left(self) -> int:
        """The number of bytes from here on."""
        return len(self.data) - self.offset

    def int16(self) -> int:
        """Read two bytes, signed."""
        return self._integer(2)

    def int32(self) -> int:
        """Read four bytes, signed."""
        return self._integer(4)

    def int32s(self, size: int) -> tuple[int, ...]:
        """Read `size` integers of four bytes, signed."""
        return struct.unpack(f">{size}i", self.octets(4 * size))

    def int32_array(self) -> tuple[int, ...]:
        """Read a count, then as many integers of four bytes, signed."""
        return self.int32s(self.count(4))

    def boolean(self) -> bool:
        """Read one byte, 0 or 1."""
        start = self.offset
        found = self.octets(1)[0]
        if found > 1:
            raise unreadable(start, "0 or 1", found)
        return found == 1

    def unsigned_varint(self) -> int:
        """Read one to five bytes, 32 bits."""
        start = self.offset
        found = 0
        for place in range(_VARINT_BYTES):
            (byte,) = self.octets(1)
            found |= (byte & 0x7F) << 7 * place
            if not byte & 0x80:
                break
        else:
            raise unreadable(start, f"a varint of up to {_VARINT_BYTES} bytes", "a longer one")
        if found >> _VARINT_BITS:
            raise unreadable(start, f"a varint of up to {_VARINT_BITS} bits", found)
        return found

    def text(self) -> str:
        """Read a text that must not be null."""
        start = self.offset
        return _not_null(start, self.nullable_text())

    def nullable_text(self) -> str | None:
        """Read a text, or None for any negative length."""
        length = self.int16()
        return None if length < 0 else self._characters(length)

    def compact_text(self) -> str:
        """Read a compact text that must not be null."""
        start = self.offset
        return _not_null(start, self.compact_nullable_text())

    def compact_nullable_text(self) -> str | None:
        """Read a compact text, or None."""
        length = self.unsigned_varint() - 1
        return None if length < 0 else self._characters(length)

    def nullable_octets(self) -> bytes | None:
        """Read bytes, or None for any negative length."""
        length = self.int32()
        return None if length < 0 else self.octets(length)

    def count(self, least: int) -> int:
        """Read how many elements of at least `least` bytes each follow."""
        start = self.offset
        return self._count_of(start, self.int32(), least)

    def nullable_count(self, least: int) -> int | None:
        """Read a count, or None for any negative count."""
        start = self.offset
        found = self.int32()
        return None if found < 0 else self._count_of(start, found, least)

    def compact_count(self, least: int) -> int:
        """Read how many elements of at least `least` bytes each follow in a compact array."""
        start = self.offset
        return self._count_of(start, self.unsigned_varint() - 1, least)

    def tags(self) -> Iterator[tuple[int, int]]:
        """Read tag and size of each tagged field, with the reader before its bytes.

        A field that the loop does not read is skipped. Rejected: more than 64 fields, tags that do
        not ascend, a field that ends elsewhere than its size says.
        """
        start = self.offset
        count = self.unsigned_varint()
        if count > MOST_TAGS:
            raise unreadable(start, f"up to {MOST_TAGS} tagged fields", count)
        last = -1
        for _ in range(count):
            start = self.offset
            tag = self.unsigned_varint()
            if tag <= last:
                raise unreadable(start, f"a tag over {last}", tag)
            last = tag
            size = self.unsigned_varint()
            begin = self.offset
            if size > self.left:
                raise unreadable(begin, f"{size} more bytes", self.left)
            yield tag, size
            if self.offset == begin:
                self.offset += size
            elif self.offset != begin + size:
                had = self.offset - begin
                raise unreadable(begin, f"{size} bytes of tag {tag}", f"a field of {had}")

    def pass_over_tags(self) -> None:
        """Skip tagged fields."""
        for _ in self.tags():
            pass

    def octets(self, size: int) -> bytes:
        """Read `size` bytes."""
        if size > self.left:
            raise unreadable(self.offset, f"{size} more bytes", self.left)
        found = self.data[self.offset : self.offset + size]
        self.offset += size
        return found

    def close(self) -> None:
        """Raise if bytes follow."""
        if self.left:
            raise unreadable(self.offset, "the end", f"{self.left} more bytes")

    def is_at(self, mark: bytes) -> bool:
        """Return whether these bytes come next, and skip them if so."""
        if not self.data.startswith(mark, self.offset):
            return False
        self.offset += len(mark)
        return True

    def end(self, read: Callable[[Reader], object]) -> int | None:
        """Return the offset after what `read` reads from here; None if it fails. Does not move."""
        ahead = Reader(self.data, self.offset)
        try:
            read(ahead)
        except RemoteProtocolError:
            return None
        return ahead.offset

    def _integer(self, size: int) -> int:
        return int.from_bytes(self.octets(size), "big", signed=True)

    def _count_of(self, start: int, found: int, least: int) -> int:
        if not 0 <= found * least <= self.left:
            raise unreadable(start, f"a count from 0 to {self.left // least}", found)
        return found

    def _characters(self, size: int) -> str:
        start = self.offset
        raw = self.octets(size)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise unreadable(start + error.start, "UTF-8", "another byte") from None


def unreadable(offset: int, wanted: str, had: object) -> RemoteProtocolError:
    """Build the error of an invalid field."""
    return RemoteProtocolError(
        f"offset {offset}: expected {wanted}, got {had}",
        offset=offset,
        wanted=wanted,
        had=had,
    )


def _not_null(start: int, found: str | None) -> str:
    if found is None:
        raise unreadable(start, "a text", "null")
    return found
