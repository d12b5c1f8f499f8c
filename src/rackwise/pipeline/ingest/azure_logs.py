"""Virtual network flow logs of Azure as rows of VPC flow logs: JSON documents of flow tuples.

Goals, in order: no value of a tuple is guessed; no tuple is lost; of a damaged document, only what
comes after the damage is unread. A document has the flows of an hour at one network interface:

```
{"records": [{"macAddress": "00224871C205", "flowRecords": {"flows": [{"flowGroups": [
  {"flowTuples": ["1793534400123,10.0.0.7,10.0.1.9,40000,9092,6,O,C,NX,7,1000,5,300", ..], ..}
]}]}, ..}, ..]}
```

A tuple has 13 values. It counts both directions of a connection since the tuple before:

```
0  time, in ms of the epoch       5  protocol number        9   packets from source to destination
1  source      3  its port        6  direction: I or O      10  bytes   from source to destination
2  destination 4  its port        7  state: B C E or D      11  packets from destination to source
                                  8  encryption             12  bytes   from destination to source
```

Each direction that has packets or bytes is a row. A tuple without any is one row. The interface is
the source if the tuple is outbound (O), and the destination if it is inbound (I):

```
tuple                      rows
10.0.0.7 10.0.1.9 O        10.0.0.7 -> 10.0.1.9  1000 bytes  egress
7 1000 5 300               10.0.1.9 -> 10.0.0.7   300 bytes  ingress
```

So the duplicates are those of VPC flow logs: a flow that both interfaces log is counted once (see
`vpc_duplicates`). States B (begin) and D (denied) have no bytes of a flow; C (continuing) and E
(end) have the bytes since the tuple before. B becomes the log status NODATA, D the action REJECT.
A tuple has one time, which is both start and end of its row.

The outcome of a row is the first of these that holds, else that of `vpc_facts`:

```
malformed:file             the gzip file is damaged                                   (quarantine)
malformed:json             the document or a record is not that of flow logs
malformed:columns          the tuple does not have 13 values
malformed:flow_state       none of B, C, E, D
malformed:flow_direction   neither I nor O
```

Limits: a task holds the file that it reads in memory. Logs name no zones.

What this does not do: read flow logs of network security groups, which are another format.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.errors import InvalidFlows
from rackwise.core.text import escaped
from rackwise.pipeline.ingest.text_lines import COLUMNS, FILE, GZIP_WINDOW, OF_FILE
from rackwise.pipeline.ingest.vpc_files import PARTIAL
from rackwise.pipeline.ingest.vpc_rows import NO_DATA, OK
from rackwise.pipeline.schemas import BRONZE_VPC, LONGEST_TEXT, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile

VALUES = 13
"""Values of a tuple."""
DIRECTIONS = {"O": ("egress", "ingress"), "I": ("ingress", "egress")}
"""Direction of a tuple -> those of the flows to its destination and to its source."""
BEGIN, DENIED = "B", "D"
STATES = ("B", "C", "E", "D")
JSON, STATE, DIRECTION = (f"malformed:{what}" for what in ("json", "flow_state", "flow_direction"))
EMPTY = ("", "0")
SURE_DIGITS = 18
BATCH = 2**14
"""Rows of a batch."""
_RECORDS = re.compile(r'\ufeff?\s*\{\s*"records"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_END = re.compile(r"\]\s*\}\s*\Z")

Row: TypeAlias = "dict[str, str | int | None]"


def read_azure_logs(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    """`schemas.BRONZE_VPC` of JSON documents. Raises `InvalidFlows` for files of another kind."""
    other = next((file for file in files if file.is_parquet), None)
    if other is not None:
        raise InvalidFlows(
            f"expected JSON files of virtual network flow logs, got {escaped(other.uri)}",
            wanted="*.json",
            had=other.uri,
            hint="set --flow-format to the format of these files",
            where=other.uri,
        )
    if not files:
        return spark.createDataFrame([], BRONZE_VPC)
    # The folders of a storage account look like partitions: `y=2026/m=11/d=01/h=12/m=00`.
    contents = (
        spark.read.format("binaryFile")
        .option("recursiveFileLookup", "true")
        .load([file.pattern for file in files])
        .select(F.col("_metadata.file_path").alias("source_file"), "content")
    )
    rows = contents.mapInArrow(_read, BRONZE_VPC)
    mark = F.col("flow_direction").alias("flow_direction", metadata={PARTIAL: False})
    return rows.select(*(mark if n == "flow_direction" else n for n in BRONZE_VPC.names))


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(BRONZE_VPC)
    for batch in batches:
        names = batch.column("source_file").to_pylist()
        for name, content in zip(names, batch.column("content"), strict=True):
            waiting: deque[Row] = deque()
            for row in document_rows(content.as_buffer().to_pybytes(), is_gzip=_is_gzip(name)):
                waiting.append(row | {"source_file": name})
                if len(waiting) == BATCH:
                    yield pa.RecordBatch.from_pylist([*waiting], schema=schema)
                    waiting.clear()
            yield pa.RecordBatch.from_pylist([*waiting], schema=schema)


def _is_gzip(name: str) -> bool:
    return name.endswith(".gz")


def document_rows(content: bytes, *, is_gzip: bool = False) -> Iterator[Row]:
    """Columns of `schemas.BRONZE_VPC` of a document, without `source_file`; others are null."""
    if is_gzip:
        try:
            content = _unpacked(content)
        except zlib.error:
            yield {"malformed": FILE, "row_offset": OF_FILE}
            return
    number = 0  # of the tuple in the document, from 1
    for part in _parts(content.decode(errors="replace")):
        for text in part.tuples:
            number += 1
            shared: Row = {"raw": text[:LONGEST_TEXT], "row_offset": number}
            for row in tuple_rows(text):
                yield {"interface_id": part.interface, **row, **shared}
        if part.rest is not None:
            number += 1
            yield {"malformed": JSON, "raw": part.rest[:LONGEST_TEXT], "row_offset": number}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A record of a document, or a part that is none."""

    interface: str | None = None
    tuples: tuple[str, ...] = ()
    rest: str | None = None
    """Text that is no record; None for a record."""


def _parts(text: str) -> Iterator[_Part]:
    """The records of a document, up to the first part that is no JSON."""
    decoder = json.JSONDecoder()
    start = _RECORDS.match(text)
    at = -1 if start is None else start.end()
    while at >= 0:
        at = _skip(text, at)
        if text.startswith("]", at):
            if _END.match(text, at) is None:
                break
            return
        try:
            record, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        yield _part(record, text[at : min(end, at + LONGEST_TEXT)])
        at = end
    yield _Part(rest=text[max(at, 0) : max(at, 0) + LONGEST_TEXT])


def _skip(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return at if between is None else between.end()


def _part(record: Any, text: str) -> _Part:  # noqa: ANN401 (any JSON)
    """The tuples of a record; its text if it has another structure."""
    try:
        tuples = tuple(
            one
            for flow in record["flowRecords"]["flows"]
            for group in flow["flowGroups"]
            for one in group["flowTuples"]
        )
    except (KeyError, TypeError):
        return _Part(rest=text)
    if not all(isinstance(one, str) for one in tuples):
        return _Part(rest=text)
    interface = record.get("macAddress")
    return _Part(interface=interface if isinstance(interface, str) else None, tuples=tuples)


def tuple_rows(text: str) -> Iterator[Row]:
    """The columns of each direction of a tuple."""
    cells = text.split(",")
    if len(cells) != VALUES:
        yield {"malformed": COLUMNS}
        return
    time, source, target, *ports, protocol, direction, state, _ = cells[:9]
    to, back = DIRECTIONS.get(direction, (direction, direction))
    second = str(int(time) // 1000) if _is_number(time) else time
    shared = {
        "protocol": protocol,
        "start": second,
        "end": second,
        "action": "REJECT" if state == DENIED else "ACCEPT",
        "log_status": NO_DATA if state == BEGIN else OK,
        "malformed": _fault(direction, state),
    }
    flows = (
        (source, target, *ports, *cells[9:11], to),
        (target, source, *reversed(ports), *cells[11:], back),
    )
    with_data = [flow for flow in flows if flow[4] not in EMPTY or flow[5] not in EMPTY]
    names = ("srcaddr", "dstaddr", "srcport", "dstport", "packets", "bytes", "flow_direction")
    for flow in with_data or flows[:1]:
        row = shared | dict(zip(names, flow, strict=True))
        yield {name: cell or None for name, cell in row.items()}


def _fault(direction: str, state: str) -> str | None:
    if state not in STATES:
        return STATE
    return None if direction in DIRECTIONS else DIRECTION


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= SURE_DIGITS


def _unpacked(content: bytes) -> bytes:
    """The content of whole gzip members. Raises `zlib.error` for anything else."""
    found, rest = [], content
    while rest:
        member = zlib.decompressobj(GZIP_WINDOW)
        found.append(member.decompress(rest))
        if not member.eof:
            raise zlib.error("the last member is cut")
        rest = member.unused_data
    return b"".join(found)
