"""Rows of VPC flow logs as numbers, and the fault of each malformed row.

A value is missing where the log has `-` or nothing. Rows with data (log status OK) need all
columns; NODATA and SKIPDATA rows have none, and that is no fault. The first fault in this order
gives the reason, `malformed:<column>`:

```
columns             the line has more or fewer values than the header (see `text`)
srcaddr dstaddr     no address, or missing where there is data
pkt_srcaddr ..      no address
srcport dstport     not in 0..65535                  protocol   not in 0..255
packets bytes       no number or below zero          start      not from 1970-01-01 to 2149-06-06
end                 before start, or more than a day after it
log_status          none of OK, NODATA, SKIPDATA     flow_direction   neither egress nor ingress
```

A number consists of decimal digits only. `srcaddr` and `dstaddr` are addresses of the interface.
The addresses of the packet (`pkt_*`) take precedence where a row has them, as behind NAT and for
pods. `bytes` is kept for every row in which it is a number.

Rows arrive as Arrow, are checked as numpy arrays and leave as numbers. Each distinct text of a
task is parsed once, and stands for its address as a code.

What this does not do: find brokers (`vpc_facts`), or which side logged a flow (`vpc_duplicates`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rackwise.pipeline.columns.addresses import DASH, NO_ADDRESS_CODE, AddressReader
from rackwise.pipeline.columns.arrays import (
    NO_NUMBER,
    Reasons,
    TextColumn,
    chosen,
    flags,
    is_valid,
    longs,
    read_texts,
    texts_at,
)
from rackwise.pipeline.columns.clock import DAY_S, LAST_SECOND
from rackwise.pipeline.schemas import LONGEST_TEXT, VPC_NUMBERS, VPC_REQUIRED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

GREATEST = {"srcport": 2**16 - 1, "dstport": 2**16 - 1, "protocol": 2**8 - 1, "start": LAST_SECOND}
LARGEST = 2**63 - 1
ALWAYS = ("start", "end")
"""Numbers that rows without data have too."""
ADDRESSES = ("srcaddr", "dstaddr", "pkt_srcaddr", "pkt_dstaddr")
ZONES = ("az_id", "src_zone", "dst_zone")
TEXTS = ("action", "log_status", "flow_direction", *ZONES)
DIRECTIONS = ("egress", "ingress")
MISSING = "-"
OK, NO_DATA, SKIP_DATA = "OK", "NODATA", "SKIPDATA"
SURE_DIGITS = 18
"""Every number of this many digits fits into 64 bits (2^63 has 19)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VpcRows:
    """A batch of n rows; every array has shape (n,)."""

    texts: dict[str, TextColumn]
    """The columns of `TEXTS`."""
    numbers: dict[str, NDArray[np.int64]]
    """The columns of `VPC_NUMBERS`, from 0; -1 where a value is missing, is not a number, or is a
    `start` out of range."""
    codes: dict[str, NDArray[np.int64]]
    """`src dst`: codes of the packet's addresses; `own_src own_dst`: of those of the interface."""
    known: AddressReader
    """The addresses with these codes."""
    malformed: TextColumn
    """The reason of each malformed row."""
    raw: pa.Array
    """Arrow strings: each malformed row as text, null for the others."""

    def __len__(self) -> int:
        return len(self.malformed.codes)


def parse_rows(
    batch: pa.RecordBatch, reader: AddressReader, *, optional: Sequence[str] = ()
) -> VpcRows:
    """The rows of a batch of `schemas.BRONZE_VPC`; `optional`: numbers that data may lack."""
    texts = {name: TextColumn.of(batch.column(name), missing=MISSING) for name in TEXTS}
    numbers, is_number = {}, {}  # column -> shape (n,): seconds, bytes, packets or codes
    for name in VPC_NUMBERS:
        numbers[name], is_number[name] = _numbers(batch.column(name))
    reader.begin_batch()
    parsed = {name: reader.codes(batch.column(name)) for name in ADDRESSES}
    codes = {}
    for end in ("src", "dst"):
        own, packet = parsed[f"{end}addr"], parsed[f"pkt_{end}addr"]
        codes[f"own_{end}"], codes[end] = own, chosen(packet > DASH, packet, own)
    faults = Reasons(TextColumn.of(batch.column("malformed")))
    has_data = ~texts["log_status"].is_any(NO_DATA, SKIP_DATA)
    for name in ADDRESSES:
        faults.add(f"malformed:{name}", parsed[name] == NO_ADDRESS_CODE)
        if name in VPC_REQUIRED:
            faults.add(f"malformed:{name}", has_data & (parsed[name] <= DASH))
    for name in VPC_NUMBERS:
        # Seen as unsigned, a number below zero is greater than any other.
        greatest = np.uint64(GREATEST.get(name, LARGEST))
        faults.add(
            f"malformed:{name}", (numbers[name].view(np.uint64) > greatest) & is_number[name]
        )
        if name in ALWAYS:
            faults.add(f"malformed:{name}", ~is_number[name])
        elif name not in optional:
            faults.add(f"malformed:{name}", has_data & ~is_number[name])
    seconds = numbers["end"] - numbers["start"]
    faults.add("malformed:end", seconds.view(np.uint64) > np.uint64(DAY_S))
    faults.add("malformed:log_status", ~texts["log_status"].is_any(OK, NO_DATA, SKIP_DATA))
    direction = texts["flow_direction"]
    is_odd = direction.is_present & ~direction.is_any(*DIRECTIONS)
    faults.add("malformed:flow_direction", has_data & is_odd)
    malformed = faults.column()
    is_late = numbers["start"] > LAST_SECOND
    if is_late.any():
        numbers["start"] = np.where(is_late, NO_NUMBER, numbers["start"])
    return VpcRows(
        texts=texts,
        numbers=numbers,
        codes=codes,
        known=reader,
        malformed=malformed,
        raw=_raw(batch, malformed.is_present),
    )


def _without_dashes(column: pa.Array) -> pa.Array:
    """Strings; null where the log has a dash."""
    return pc.if_else(pc.equal(column, MISSING), None, column)


def _numbers(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Numbers of a column of integers or text, -1 where a value is none; whether it has a value."""
    if pa.types.is_integer(column.type):
        return longs(column), is_valid(column)
    texts = _without_dashes(column)
    is_present = is_valid(texts)
    # Arrow casts up to 18 digits; longer texts, such as those with leading zeros, go one by one.
    is_sure = pc.and_(
        pc.ascii_is_decimal(texts), pc.less_equal(pc.binary_length(texts), SURE_DIGITS)
    )
    numbers = longs(pc.if_else(is_sure, texts, None).cast(pa.int64()))
    is_odd = is_present & ~flags(is_sure)
    if is_odd.any():
        numbers = numbers.copy()
        odd = read_texts(texts.filter(pa.array(is_odd)))
        numbers[is_odd] = [_number(text) for text in odd]
    return numbers, is_present


def _number(text: str) -> int:
    digits = text.lstrip("0")
    is_number = text.isascii() and text.isdigit() and len(digits) <= len(str(LARGEST))
    number = int(digits or 0) if is_number else NO_NUMBER
    return number if number <= LARGEST else NO_NUMBER


def _raw(batch: pa.RecordBatch, is_malformed: NDArray[np.bool_]) -> pa.Array:
    """Malformed rows as text: the line where there is one, else the columns as a line."""
    places = np.flatnonzero(is_malformed)
    if not len(places):
        return pa.nulls(batch.num_rows, pa.string())
    bad = batch.take(pa.array(places))
    rows = zip(
        read_texts(bad.column("raw")),
        *(read_texts(bad.column(name)) for name in VPC_REQUIRED),
        strict=True,
    )
    lines = [_as_line(cells) if line is None else line.removesuffix("\n") for line, *cells in rows]
    return texts_at(places, lines, batch.num_rows)


def _as_line(cells: Sequence[object]) -> str:
    return " ".join(MISSING if cell is None else str(cell) for cell in cells)[:LONGEST_TEXT]
