"""The bytes before every message: a size, then a header.

```
request   size int32 | api_key int16, api_version int16, correlation_id int32, client_id | body
                       version 2: then tagged fields
response  size int32 | correlation_id int32                                              | body
                       version 1: then tagged fields
```

client_id is a text with two bytes of length in both versions, null where a client has none; clients
of 0.10.0 write an empty one. The size does not count itself. Which header a message has depends on
its key and version: flexible versions have the tagged fields, but the answer to ApiVersions never
has them, so that a client can read it whatever its version.

What this does not do: cut a stream into frames. The caller reads four bytes, calls
`read_frame_size`, and reads as many.

Source: `RequestHeader.json`, `ResponseHeader.json`; KIP-482, KIP-511.
"""

from __future__ import annotations

from dataclasses import dataclass

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.wire.reader import Reader
from rackwise.core.wire.writer import Writer, require_version

FRAME_PREFIX = 4
LEAST_FRAME = 8
"""Bytes of the shortest request: key, version, correlation id."""
MOST_FRAME = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader:
    """The message that follows; `api_key` and `api_version` int16, `correlation_id` int32."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None


def write_request_header(header: RequestHeader, *, version: int) -> bytes:
    """Write header version 1 or 2. Raises `LocalProtocolError`."""
    require_version("request header", version, oldest=1, newest=2)
    writer = Writer()
    writer.int16(header.api_key)
    writer.int16(header.api_version)
    writer.int32(header.correlation_id)
    writer.text(header.client_id, "client_id")
    if version > 1:
        writer.tags()
    return bytes(writer.data)


def read_api(data: bytes) -> tuple[int, int]:
    """Read key and version of a request, which determine the header version.

    Raises `RemoteProtocolError`.
    """
    reader = Reader(data)
    return reader.int16(), reader.int16()


def read_request_header(data: bytes, *, version: int) -> tuple[RequestHeader, int]:
    """Read the header and the offset of the body; tagged fields are skipped.

    Raises `RemoteProtocolError`; `LocalProtocolError` for a header version that is not 1 or 2.
    """
    require_version("request header", version, oldest=1, newest=2)
    reader = Reader(data)
    header = RequestHeader(
        api_key=reader.int16(),
        api_version=reader.int16(),
        correlation_id=reader.int32(),
        client_id=reader.nullable_text(),
    )
    if version > 1:
        reader.pass_over_tags()
    return header, reader.offset


def write_response_header(correlation_id: int, *, version: int) -> bytes:
    """Write header version 0 or 1. Raises `LocalProtocolError`."""
    require_version("response header", version, newest=1)
    writer = Writer()
    writer.int32(correlation_id)
    if version > 0:
        writer.tags()
    return bytes(writer.data)


def read_response_header(data: bytes, *, version: int) -> tuple[int, int]:
    """Read the correlation id and the offset of the body; tagged fields are skipped.

    Raises `RemoteProtocolError`; `LocalProtocolError` for a header version that is not 0 or 1.
    """
    require_version("response header", version, newest=1)
    reader = Reader(data)
    correlation_id = reader.int32()
    if version > 0:
        reader.pass_over_tags()
    return correlation_id, reader.offset


def write_frame(message: bytes) -> bytes:
    """Write the message with its size before it. Raises `LocalProtocolError` from 2 GiB on."""
    writer = Writer()
    writer.int32(len(message))
    return bytes(writer.data) + message


def read_frame_size(prefix: bytes, *, least: int = LEAST_FRAME, most: int = MOST_FRAME) -> int:
    """Read how many bytes of a message follow these four.

    Raises `RemoteProtocolError` if that is not from `least` to `most`, before any byte is read.
    """
    size = Reader(prefix).int32()
    if not least <= size <= most:
        raise RemoteProtocolError(
            f"offset 0: expected a frame of {least} to {most} bytes, got {size}",
            offset=0,
            wanted=f"{least} to {most}",
            had=size,
        )
    return size
