"""Rows of VPC flow logs read as numbers, and what is wrong with those that cannot be.

A value is missing where the log has `-` or nothing. Rows with data (log status OK) need all
columns; NODATA and SKIPDATA rows have none and are not malformed for it. The first fault in this
order gives the reason, `malformed:<column>`:

```
columns             the line has more or fewer values than the header (see `lines`)
srcaddr dstaddr     no address, or missing where there is data
pkt_srcaddr ..      no address
srcport dstport     not in 0..65535                  protocol   not in 0..255
packets bytes       no number or below zero          start      not from 1970-01-01 to 2149-06-06
end                 before start, or more than a day after it
log_status          none of OK, NODATA, SKIPDATA     flow_direction   neither egress nor ingress
```

A number is decimal digits alone. `srcaddr` and `dstaddr` are addresses of the interface; what the
packet carries (`pkt_*`) wins where it is given, as behind NAT and for pods. `bytes` is kept for
every row in which it is a number.

Rows come as Arrow, are judged as numpy arrays and leave as numbers; each distinct text of a batch
is looked at once.

What this does not do: ask who is a broker (`log_facts`), or which side logged a flow (`sides`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rackwise.pipeline.columns.addresses import NONE, AddressReader
from rackwise.pipeline.columns.arrays import (
    NO_NUMBER,
    Reasons,
    Words,
    flags,
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
"""Numbers that rows without data have, too."""
ADDRESSES = ("srcaddr", "dstaddr", "pkt_srcaddr", "pkt_dstaddr")
WORDS = ("interface_id", "action", "log_status", "flow_direction")
DIRECTIONS = ("egress", "ingress")
MISSING = "-"
OK, NO_DATA, SKIP_DATA = "OK", "NODATA", "SKIPDATA"
SURE_DIGITS = 18
"""A number of so many digits fits a long, whatever they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRows:
    """Rows as arrays of shape (n,).

    `src_ip dst_ip src_prefix dst_prefix`: the packet's addresses as in `addresses`; `own_src_ip
    own_dst_ip`: those of the interface. `srcport dstport protocol packets bytes start end`: numbers
    from 0; -1 where there is none, of `start` also where it is out of range. `malformed`: reasons,
    none where the row is sound. `raw`: the row as text where it is malformed, as Arrow strings.
    """

    words: dict[str, Words]
    numbers: dict[str, NDArray[np.int64]]
    addresses: dict[str, NDArray[np.int64]]
    malformed: Words
    raw: pa.Array

    def __len__(self) -> int:
        return len(self.malformed.codes)


def read_rows(batch: pa.RecordBatch, reader: AddressReader) -> LogRows:
    """The rows of a batch of `schemas.BRONZE_VPC`."""
    words = {name: Words.of(batch.column(name), missing=MISSING) for name in WORDS}
    numbers, is_number = {}, {}
    for name in VPC_NUMBERS:
        numbers[name], is_number[name] = _numbers(batch.column(name))
    is_given, read = {}, {}
    for name in ADDRESSES:
        texts = _present(batch.column(name))
        is_given[name] = flags(pc.is_valid(texts))
        read[name] = reader.read(texts)
    addresses = {}
    for end in ("src", "dst"):
        own, packet = read[f"{end}addr"], read[f"pkt_{end}addr"]
        is_packet = is_given[f"pkt_{end}addr"]
        addresses[f"own_{end}_ip"] = own[0]
        addresses[f"{end}_ip"] = np.where(is_packet, packet[0], own[0])
        addresses[f"{end}_prefix"] = np.where(is_packet, packet[1], own[1])
    faults = Reasons(Words.of(batch.column("malformed")))
    has_data = ~words["log_status"].is_any(NO_DATA, SKIP_DATA)
    for name in ADDRESSES:
        is_needed = has_data & (name in VPC_REQUIRED)
        faults.add(f"malformed:{name}", np.where(is_given[name], read[name][0] == NONE, is_needed))
    for name in VPC_NUMBERS:
        is_needed = has_data | (name in ALWAYS)
        is_out = (numbers[name] < 0) | (numbers[name] > GREATEST.get(name, LARGEST))
        faults.add(f"malformed:{name}", np.where(is_number[name], is_out, is_needed))
    lasts = numbers["end"] - numbers["start"]
    faults.add("malformed:end", (lasts < 0) | (lasts > DAY_S))
    faults.add("malformed:log_status", ~words["log_status"].is_any(OK, NO_DATA, SKIP_DATA))
    direction = words["flow_direction"]
    is_odd = direction.is_given & ~direction.is_any(*DIRECTIONS)
    faults.add("malformed:flow_direction", has_data & is_odd)
    malformed = faults.words()
    numbers["start"][numbers["start"] > LAST_SECOND] = NO_NUMBER
    return LogRows(
        words=words,
        numbers=numbers,
        addresses=addresses,
        malformed=malformed,
        raw=_raw(batch, malformed.is_given),
    )


def _present(column: pa.Array) -> pa.Array:
    """Strings; null where the log has a dash."""
    return pc.if_else(pc.equal(column, MISSING), None, column)


def _numbers(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Numbers of a column of integers or text, -1 for what is none; whether anything is there."""
    if pa.types.is_integer(column.type):
        return longs(column), flags(pc.is_valid(column))
    texts = _present(column)
    is_given = flags(pc.is_valid(texts))
    is_sure = pc.and_(
        pc.ascii_is_decimal(texts), pc.less_equal(pc.binary_length(texts), SURE_DIGITS)
    )
    numbers = longs(pc.if_else(is_sure, texts, None).cast(pa.int64()))
    is_odd = is_given & ~flags(is_sure)
    if is_odd.any():
        odd = read_texts(texts.filter(pa.array(is_odd)))
        numbers[is_odd] = [_number(text) for text in odd]
    return numbers, is_given


def _number(text: str) -> int:
    digits = text.lstrip("0")
    is_number = text.isascii() and text.isdigit() and len(digits) <= len(str(LARGEST))
    number = int(digits or 0) if is_number else NO_NUMBER
    return number if number <= LARGEST else NO_NUMBER


def _raw(batch: pa.RecordBatch, is_malformed: NDArray[np.bool_]) -> pa.Array:
    """The line where there is one, else the columns used as a line of a log."""
    places = np.flatnonzero(is_malformed)
    bad = batch.take(pa.array(places))
    rows = zip(
        read_texts(bad.column("raw")),
        *(read_texts(bad.column(name)) for name in VPC_REQUIRED),
        strict=True,
    )
    lines = [line if line is not None else _as_line(cells) for line, *cells in rows]
    return texts_at(places, lines, batch.num_rows)


def _as_line(cells: Sequence[object]) -> str:
    return " ".join(MISSING if cell is None else str(cell) for cell in cells)[:LONGEST_TEXT]
