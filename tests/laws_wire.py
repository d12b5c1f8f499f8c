"""Laws of every pair of a reader and a writer of Kafka's bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rackwise.core.errors import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Value = TypeVar("Value")


def check_round_trip(
    value: Value, write: Callable[[Value], bytes], read: Callable[[bytes], Value]
) -> None:
    """Bytes that were written are read, written again identically, and end at the same place."""
    data = write(value)
    assert type(data) is bytes, "law of writers: bytes"
    assert read(data) == value, "law of the round trip: the value"
    assert write(read(data)) == data, "law of the round trip: the bytes"
    assert not is_read(data + b"\x00", read), "law of the end: nothing may follow"
    assert not data or not is_read(data[:-1], read), "law of the end: nothing may lack"


def is_read(data: bytes, read: Callable[[bytes], object]) -> bool:
    """Whether a reader accepts these bytes."""
    return refused_at(data, read) is None


def refused_at(data: bytes, read: Callable[[bytes], object]) -> int | None:
    """The offset at which a reader rejects these bytes; None where it accepts them."""
    try:
        read(data)
    except RemoteProtocolError as error:
        return error.offset
    return None


def check_reader(
    data: bytes, write: Callable[[Value], bytes], read: Callable[[bytes], Value]
) -> bool:
    """Arbitrary bytes are rejected, or read as a value that can be written.

    The reader raises nothing but `RemoteProtocolError`, with an offset inside the bytes.
    """
    offset = refused_at(data, read)
    if offset is not None:
        assert 0 <= offset <= len(data), "law of readers: the offset is inside"
        return False
    value = read(data)
    assert read(write(value)) == value, "law of readers: what is accepted can be written"
    return True


def flipped(data: bytes) -> Iterator[bytes]:
    """The bytes with each bit flipped, one at a time."""
    for place in range(8 * len(data)):
        turned = bytearray(data)
        turned[place // 8] ^= 1 << place % 8
        yield bytes(turned)
