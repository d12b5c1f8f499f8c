"""Rows spoiled on purpose, one of each kind in turn, with the reason a reader must give.

A fault is one field of one row that cannot be what it says; the row would have been kept without
it. Numbers in a Parquet column stay numbers, so text where a number belongs, and lines of the wrong
length, exist in text files alone.

```
column   value            reason               bytes a reader can count
srcaddr  10.0.0.256       malformed:srcaddr    those of the row
bytes    -5               malformed:bytes      none
end      start - 1        malformed:end        those of the row
(line)   cut before end   malformed:columns    none
```

What this does not do: choose the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.fleet.flows.columns import MISSING, Edit, Numbers, Spoiled, Words
from rackwise.core.fleet.world.options import DAY_S, FleetOptions, FlowFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

DIRECTION_SINCE = 5
NO_UTF8 = "\udcff"
"""Stands for the byte 0xff, which no text in UTF-8 holds."""
NO_BROKER = 2**31 - 1
"""A broker id that no cluster has."""
LONG_LINE = 70_000
"""Longer than any line of a flow log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way to spoil a row: what `column` holds instead; a text, a number, None for nothing.

    `is_from_start`: `value` is seconds from the row's `start`. `edit`: only text can hold it.
    `hides_bytes`: a reader cannot know the row's bytes.
    """

    reason: str
    column: str
    value: str | int | None = None
    is_from_start: bool = False
    edit: Edit | None = None
    hides_bytes: bool = False


LOG_FAULTS = (
    Fault(reason="malformed:srcaddr", column="srcaddr", value="10.0.0.256"),
    Fault(reason="malformed:dstaddr", column="dstaddr", value="010.0.0.1"),
    Fault(reason="malformed:bytes", column="bytes", value=-5, hides_bytes=True),
    Fault(reason="malformed:bytes", column="bytes", hides_bytes=True),
    Fault(reason="malformed:packets", column="packets", value=-1),
    Fault(reason="malformed:srcport", column="srcport"),
    Fault(reason="malformed:dstport", column="dstport", value=65_536),
    Fault(reason="malformed:end", column="end", value=-1, is_from_start=True),
    Fault(reason="malformed:end", column="end", value=DAY_S + 1, is_from_start=True),
    Fault(reason="malformed:protocol", column="protocol", value=256),
    Fault(reason="malformed:start", column="start"),
    Fault(reason="malformed:log_status", column="log_status", value="MAYBE"),
)
LATER_FAULTS = (
    Fault(reason="malformed:pkt_srcaddr", column="pkt_srcaddr", value="here"),
    Fault(reason="malformed:pkt_dstaddr", column="pkt_dstaddr", value="2001:db8::g"),
    Fault(reason="malformed:flow_direction", column="flow_direction", value="sideways"),
)
TEXT_FAULTS = (
    Fault(reason="malformed:bytes", column="bytes", value="12x", edit=Edit.FIELD, hides_bytes=True),
    Fault(reason="malformed:packets", column="packets", value="1e3", edit=Edit.FIELD),
    Fault(reason="malformed:protocol", column="protocol", value="tcp", edit=Edit.FIELD),
    Fault(reason="malformed:start", column="start", value="noon", edit=Edit.FIELD),
    Fault(reason="malformed:columns", column="end", edit=Edit.CUT, hides_bytes=True),
    Fault(reason="malformed:columns", column="end", edit=Edit.MORE, hides_bytes=True),
    Fault(reason="malformed:header", column="version", edit=Edit.HEADER, hides_bytes=True),
    Fault(
        reason="malformed:charset",
        column="account_id",
        value=NO_UTF8,
        edit=Edit.FIELD,
        hides_bytes=True,
    ),
    Fault(
        reason="malformed:line",
        column="account_id",
        value="9" * LONG_LINE,
        edit=Edit.FIELD,
        hides_bytes=True,
    ),
)
CANONICAL_FAULTS = (
    Fault(reason="malformed:kind", column="kind", value="eat"),
    Fault(reason="malformed:bytes", column="bytes", value=-5, hides_bytes=True),
    Fault(reason="malformed:bytes", column="bytes", hides_bytes=True),
    Fault(reason="malformed:cluster", column="cluster"),
    Fault(reason="malformed:cluster", column="cluster", value="elsewhere"),
    Fault(reason="malformed:broker_id", column="broker_id"),
    Fault(reason="malformed:broker_id", column="broker_id", value=NO_BROKER),
    Fault(reason="malformed:peer_broker_id", column="peer_broker_id", value=NO_BROKER),
    Fault(reason="malformed:window_start", column="window_start"),
    Fault(reason="malformed:window_s", column="window_s", value=-1),
    Fault(reason="malformed:partition", column="partition", value=-1),
    Fault(reason="malformed:packets", column="packets", value=-1),
    Fault(reason="malformed:source", column="source", value="rumour"),
    Fault(reason="malformed:client_address", column="client_address", value="10.0.0.256"),
)


def faults_of(options: FleetOptions) -> tuple[Fault, ...]:
    """The faults that files of these options can hold."""
    if options.flow_format is FlowFormat.CANONICAL:
        return CANONICAL_FAULTS
    later = LATER_FAULTS if options.log_version >= DIRECTION_SINCE else ()
    text = TEXT_FAULTS if options.flow_format is FlowFormat.VPC_TEXT else ()
    return (*LOG_FAULTS, *later, *text)


def spoiled(
    columns: Mapping[str, Words | Numbers], rows: NDArray[np.int64], faults: Sequence[Fault]
) -> tuple[dict[str, Words | Numbers], tuple[Spoiled, ...]]:
    """The columns with fault `i mod len(faults)` in row `rows[i]`, and what only text holds."""
    changed = dict(columns)
    in_text: list[Spoiled] = []
    for place, fault in enumerate(faults[: len(rows)]):
        mine = rows[place :: len(faults)]
        if fault.edit is not None:
            in_text += [
                Spoiled(
                    row=int(row), edit=fault.edit, column=fault.column, text=str(fault.value or "")
                )
                for row in mine
            ]
        else:
            changed[fault.column] = _changed(changed, mine, fault)
    return changed, tuple(sorted(in_text, key=lambda spoil: spoil.row))


def _changed(
    columns: Mapping[str, Words | Numbers], rows: NDArray[np.int64], fault: Fault
) -> Words | Numbers:
    column, start = columns[fault.column], columns.get("start")
    if isinstance(column, Words):
        codes = column.codes.copy()
        codes[rows] = MISSING if fault.value is None else len(column.words)
        return Words(codes, (*column.words, str(fault.value)))
    values, is_missing = column.values.copy(), column.is_missing.copy()
    is_missing[rows] = fault.value is None
    if fault.value is None:
        values[rows] = 0
    elif fault.is_from_start and isinstance(start, Numbers):
        values[rows] = start.values[rows] + int(fault.value)
    else:
        values[rows] = int(fault.value)
    return Numbers(values, is_missing, column.is_time)
