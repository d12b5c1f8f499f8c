"""CreateReplicaAssignment, api key 68, version 0: ask a server to place replicas.

```
request   NumPartitions int32, ReplicationFactor int16, ForceSimpleAssignment bool,
          NodeId compact array of int32, timeoutMs int32, tagged fields
response  ReplicaAssignment compact array of
              (PartitionId int32, Replicas compact array of int32, tagged fields), tagged fields
```

6 partitions, 3 replicas on brokers 1, 2 and 300, within a minute; 0 -> 1, 2, 300 and 1 -> 2:

```
00000006 0003 00 04 00000001 00000002 0000012c 0000ea60 00
03 00000000 04 00000001 00000002 0000012c 00 00000001 02 00000002 00 00
```

An empty NodeId means all brokers; the KIP does not define it. The KIP's response has no errors.
Here they are tagged fields of the response, each omitted at its default: 0 ErrorCode int16, 1
ErrorMessage compact nullable text, 2 ThrottleTimeMs int32. A response without an error has exactly
the KIP's bytes. A reader that knows only the KIP reads an error as an empty assignment.

Since 3.5 Kafka uses the key for ConsumerGroupHeartbeat, so brokers list it, too. A server of this
message lists the supported feature `MARKER` in its response to ApiVersions, and a client sends the
message only to a server with that feature.

Rows of equal length are records of equal size, so they are written and read as one matrix of bytes.
The reader is strict: it rejects trailing bytes, nulls, repeated or missing partitions, negative ids
and impossible counts. Unknown tagged fields of a message are kept, those of a row are skipped.

What this does not do: decide whether a request can be met.

Source: KIP-879, "Protocol". Its titles say CreatePartitionAssignment; this file uses the names in
its JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import LocalProtocolError
from rackwise.core.override import override
from rackwise.core.placement.model import NOBODY
from rackwise.core.wire.reader import Reader, unreadable
from rackwise.core.wire.writer import Writer

if TYPE_CHECKING:
    from numpy.typing import NDArray

API_KEY = 68
MARKER = "rackwise.replica.assignment"
"""Supported feature, versions 1 to 1: it distinguishes a server of this message from a broker."""
MOST_CELLS = 1 << 22
"""Partitions times the longest row, where rows are padded: a message cannot ask for more memory."""

_ERROR_CODE = 0
_ERROR_MESSAGE = 1
_THROTTLE_TIME_MS = 2
_ID_BYTES = 4
_LEAST_ROW = 6
_DIMENSIONS = 2


class ErrorCode(IntEnum):
    """Errors of a response; Kafka's numbers and names."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    REQUEST_TIMED_OUT = 7
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_REQUEST = 42


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRequest:
    """The request."""

    num_partitions: int
    """int32."""
    replication_factor: int
    """int16."""
    force_simple_assignment: bool = False
    """Whether racks are ignored."""
    node_ids: tuple[int, ...] = ()
    """Brokers that may be used, int32; empty = all."""
    timeout_ms: int = 60_000
    """int32."""
    unknown_tags: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the KIP does not have, with their bytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssignmentResponse:
    """The response. Raises `LocalProtocolError` for rows of another type or shape."""

    rows: NDArray[np.int32] | None
    """int32 [partitions, replication], read-only, preferred leader first; -1 pads a shorter row at
    its end. None = no partitions; an array without rows becomes None."""
    first: int = 0
    """The partition of row 0; row i is partition `first + i`."""
    error_code: int = 0
    """int16."""
    error_message: str | None = None
    throttle_time_ms: int = 0
    """int32."""
    unknown_tags: tuple[tuple[int, bytes], ...] = ()
    """As in the request."""

    def __post_init__(self) -> None:
        if self.rows is not None:
            rows = _checked_rows(self.rows)
            object.__setattr__(self, "rows", rows if len(rows) else None)

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AssignmentResponse):
            return NotImplemented
        if self.rows is None or other.rows is None:
            return self.rows is other.rows and self._rest == other._rest
        return np.array_equal(self.rows, other.rows) and self._rest == other._rest

    __hash__ = None  # type: ignore[assignment]

    @property
    def _rest(self) -> tuple[object, ...]:
        return (
            self.first,
            self.error_code,
            self.error_message,
            self.throttle_time_ms,
            self.unknown_tags,
        )


def write_request(request: AssignmentRequest) -> bytes:
    """Write the body of a request. Raises `LocalProtocolError`."""
    writer = Writer()
    writer.int32(request.num_partitions)
    writer.int16(request.replication_factor)
    writer.boolean(request.force_simple_assignment)
    writer.unsigned_varint(len(request.node_ids) + 1)
    writer.int32s(request.node_ids)
    writer.int32(request.timeout_ms)
    writer.tags(request.unknown_tags)
    return bytes(writer.data)


def read_request(data: bytes) -> AssignmentRequest:
    """Read the body of a request. Raises `RemoteProtocolError`."""
    reader = Reader(data)
    num_partitions = reader.int32()
    replication_factor = reader.int16()
    force_simple_assignment = reader.boolean()
    node_ids = reader.int32s(reader.compact_count(_ID_BYTES))
    timeout_ms = reader.int32()
    unknown_tags = tuple((tag, reader.octets(size)) for tag, size in reader.tags())
    reader.close()
    return AssignmentRequest(
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        force_simple_assignment=force_simple_assignment,
        node_ids=node_ids,
        timeout_ms=timeout_ms,
        unknown_tags=unknown_tags,
    )


def write_response(response: AssignmentResponse) -> bytes:
    """Write the body of a response. Raises `LocalProtocolError`."""
    writer = Writer()
    if response.rows is None:
        writer.unsigned_varint(1)
    else:
        _write_rows(writer, response.rows, response.first)
    tail = list(response.unknown_tags)
    if response.error_code:
        code = Writer()
        code.int16(response.error_code)
        tail.append((_ERROR_CODE, bytes(code.data)))
    if response.error_message is not None:
        message = Writer()
        message.compact_text(response.error_message)
        tail.append((_ERROR_MESSAGE, bytes(message.data)))
    if response.throttle_time_ms:
        throttle = Writer()
        throttle.int32(response.throttle_time_ms)
        tail.append((_THROTTLE_TIME_MS, bytes(throttle.data)))
    writer.tags(tail)
    return bytes(writer.data)


def read_response(data: bytes) -> AssignmentResponse:
    """Read the body of a response. Raises `RemoteProtocolError`."""
    reader = Reader(data)
    rows, first = _read_rows(reader)
    error_code, error_message, throttle_time_ms = 0, None, 0
    unknown_tags = []
    for tag, size in reader.tags():
        if tag == _ERROR_CODE:
            error_code = reader.int16()
        elif tag == _ERROR_MESSAGE:
            error_message = reader.compact_nullable_text()
        elif tag == _THROTTLE_TIME_MS:
            throttle_time_ms = reader.int32()
        else:
            unknown_tags.append((tag, reader.octets(size)))
    reader.close()
    return AssignmentResponse(
        rows=rows,
        first=first,
        error_code=error_code,
        error_message=error_message,
        throttle_time_ms=throttle_time_ms,
        unknown_tags=tuple(unknown_tags),
    )


def _checked_rows(rows: object) -> NDArray[np.int32]:
    """The rows as a read-only view; ids from 0 on, then nothing but padding."""
    had = type(rows).__name__
    if isinstance(rows, np.ndarray):
        had = f"{rows.dtype} of {rows.ndim} dimensions"
    if not isinstance(rows, np.ndarray) or rows.dtype != np.int32 or rows.ndim != _DIMENSIONS:
        raise LocalProtocolError(
            f"expected rows of int32 of 2 dimensions, got {had}", wanted="int32", had=had
        )
    padded = rows[:, :-1] == NOBODY
    if (rows < NOBODY).any() or (padded & (rows[:, 1:] != NOBODY)).any():
        raise LocalProtocolError(
            "expected broker ids from 0 on, then padding, got rows with others",
            wanted="ids from 0 on",
            had="others",
        )
    view = rows.view()
    view.flags.writeable = False
    return view


def _write_rows(writer: Writer, rows: NDArray[np.int32], first: int) -> None:
    partitions, width = rows.shape
    last = first + partitions - 1
    if first < 0 or last >= 2**31:
        raise LocalProtocolError(
            f"expected partitions from 0 on of 32 bits, got {first} to {last}",
            wanted="0 to 2147483647",
            had=f"{first} to {last}",
        )
    writer.unsigned_varint(partitions + 1)
    if width and (rows[:, -1] == NOBODY).any():
        for partition, row in enumerate(rows, start=first):
            _write_row(writer, partition, row[row != NOBODY].tolist())
        return
    size = Writer()
    size.unsigned_varint(width + 1)
    head = _ID_BYTES + len(size.data)
    records = np.empty((partitions, head + _ID_BYTES * width + 1), dtype=np.uint8)
    records[:, :_ID_BYTES] = _octets(np.arange(first, last + 1), partitions)
    records[:, _ID_BYTES:head] = np.frombuffer(size.data, dtype=np.uint8)
    records[:, head:-1] = _octets(rows, partitions)
    records[:, -1] = 0
    writer.raw(records.tobytes())


def _write_row(writer: Writer, partition: int, replicas: list[int]) -> None:
    writer.int32(partition)
    writer.unsigned_varint(len(replicas) + 1)
    writer.int32s(replicas)
    writer.tags()


def _octets(values: NDArray[np.int_ | np.int32], partitions: int) -> NDArray[np.uint8]:
    """Big-endian bytes, uint8 [partitions, 4 times the width]."""
    return values.astype(">i4").reshape(-1).view(np.uint8).reshape(partitions, -1)


def _read_rows(reader: Reader) -> tuple[NDArray[np.int32] | None, int]:
    """Read rows by partition, in any order, and the first partition."""
    start = reader.offset
    count = reader.compact_count(_LEAST_ROW)
    if not count:
        return None, 0
    partitions, rows = _read_records(reader, count) or _read_each(reader, count)
    if not _is_counted_up(partitions):
        order = np.argsort(partitions, kind="stable")
        partitions, rows = partitions[order], rows[order]
    first = int(partitions[0])
    if first < 0 or not _is_counted_up(partitions):
        raise unreadable(start, "each partition from the first on once", "other partitions")
    return rows, first


def _is_counted_up(partitions: NDArray[np.int64]) -> bool:
    return bool((np.diff(partitions) == 1).all())


def _read_records(reader: Reader, count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
    """Partitions and rows where all rows are records of one size without tagged fields, or None."""
    start = reader.offset
    ahead = Reader(reader.data, start + _ID_BYTES)
    width = ahead.compact_count(_ID_BYTES)
    head = ahead.offset - start
    record = head + _ID_BYTES * width + 1
    if count * record > reader.left:
        return None
    fields = np.dtype(
        [
            ("partition", ">i4"),
            ("width", "u1", (head - _ID_BYTES,)),
            ("row", ">i4", (width,)),
            ("tags", "u1"),
        ]
    )
    found = np.frombuffer(reader.data, fields, count, start)
    if (found["width"] != found["width"][0]).any() or found["tags"].any():
        return None
    partitions = found["partition"].astype(np.int64)
    rows = found["row"].astype(np.int32)
    if (rows < 0).any():
        row, column = np.argwhere(rows < 0)[0].tolist()
        offset = start + row * record + head + _ID_BYTES * column
        raise unreadable(offset, "a broker id from 0 on", int(rows[row, column]))
    reader.offset += count * record
    return partitions, rows


def _read_each(reader: Reader, count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Partitions and rows of any lengths, padded to the longest."""
    partitions, found, width = [], [], 0
    for _ in range(count):
        partitions.append(reader.int32())
        start = reader.offset
        replicas = reader.int32s(reader.compact_count(_ID_BYTES))
        width = max(width, len(replicas))
        if count * width > MOST_CELLS:
            raise unreadable(start, f"up to {MOST_CELLS // count} replicas", width)
        if min(replicas, default=0) < 0:
            raise unreadable(start, "broker ids from 0 on", min(replicas))
        reader.pass_over_tags()
        found.append(replicas)
    rows = np.full((count, width), NOBODY, dtype=np.int32)
    for row, replicas in zip(rows, found, strict=True):
        row[: len(replicas)] = replicas
    return np.array(partitions, dtype=np.int64), rows
