"""Makes rows malformed on purpose, each kind in turn, with the reason that a reader must give.

A fault is one invalid field of one row that a reader would keep otherwise. Parquet columns of
numbers hold only numbers, so only text files have texts in place of numbers and lines of a wrong
length.

```
column   value            reason               bytes that a reader can count
srcaddr  10.0.0.256       malformed:srcaddr    those of the row
bytes    -5               malformed:bytes      none
end      start - 1        malformed:end        those of the row
(line)   cut before end   malformed:columns    none
```

What this does not do: choose the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rackwise.core.fleet.flows.columns import (
    MISSING,
    FlowNumberColumn,
    FlowTextColumn,
    LineEdit,
    SpoiledLine,
)
from rackwise.core.fleet.world.options import DAY_S, FleetOptions, FlowFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

NO_UTF8 = "\udcff"
"""The byte 0xff, which is invalid in UTF-8, as Python decodes it."""
NO_BROKER = 2**31 - 1
"""A broker id that no cluster has."""
LONG_LINE = 70_000
"""Longer than any line of a flow log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFault:
    """One way to make a row malformed."""

    reason: str
    """The reason that a reader must give for the row."""
    column: str
    value: str | int | None = None
    """The new value of the column; None = missing."""
    is_from_start: bool = False
    """Whether `value` is in seconds from the row's `start`."""
    edit: LineEdit | None = None
    """The edit of the line, for faults that only text files can hold."""
    hides_bytes: bool = False
    """Whether a reader cannot know the row's bytes."""


LOG_FAULTS = (
    RowFault(reason="malformed:srcaddr", column="srcaddr", value="10.0.0.256"),
    RowFault(reason="malformed:dstaddr", column="dstaddr", value="010.0.0.1"),
    RowFault(reason="malformed:bytes", column="bytes", value=-5, hides_bytes=True),
    RowFault(reason="malformed:bytes", column="bytes", hides_bytes=True),
    RowFault(reason="malformed:packets", column="packets", value=-1),
    RowFault(reason="malformed:srcport", column="srcport"),
    RowFault(reason="malformed:dstport", column="dstport", value=65_536),
    RowFault(reason="malformed:end", column="end", value=-1, is_from_start=True),
    RowFault(reason="malformed:end", column="end", value=DAY_S + 1, is_from_start=True),
    RowFault(reason="malformed:protocol", column="protocol", value=256),
    RowFault(reason="malformed:start", column="start"),
    RowFault(reason="malformed:log_status", column="log_status", value="MAYBE"),
)
LATER_FAULTS = (
    RowFault(reason="malformed:pkt_srcaddr", column="pkt_srcaddr", value="here"),
    RowFault(reason="malformed:pkt_dstaddr", column="pkt_dstaddr", value="2001:db8::g"),
    RowFault(reason="malformed:flow_direction", column="flow_direction", value="sideways"),
)
LOG_TEXTS = ("bytes", "packets", "protocol", "start")
TEXT_FAULTS = (
    RowFault(
        reason="malformed:bytes", column="bytes", value="12x", edit=LineEdit.FIELD, hides_bytes=True
    ),
    RowFault(reason="malformed:packets", column="packets", value="1e3", edit=LineEdit.FIELD),
    RowFault(reason="malformed:protocol", column="protocol", value="tcp", edit=LineEdit.FIELD),
    RowFault(reason="malformed:start", column="start", value="noon", edit=LineEdit.FIELD),
    RowFault(reason="malformed:columns", column="end", edit=LineEdit.CUT, hides_bytes=True),
    RowFault(reason="malformed:columns", column="end", edit=LineEdit.MORE, hides_bytes=True),
    RowFault(reason="malformed:header", column="version", edit=LineEdit.HEADER, hides_bytes=True),
    RowFault(
        reason="malformed:charset",
        column="account_id",
        value=NO_UTF8,
        edit=LineEdit.FIELD,
        hides_bytes=True,
    ),
    RowFault(
        reason="malformed:line",
        column="account_id",
        value="9" * LONG_LINE,
        edit=LineEdit.FIELD,
        hides_bytes=True,
    ),
)
GCP_FAULTS = (
    *(fault for fault in LOG_FAULTS if fault.column != "log_status"),
    RowFault(reason="malformed:reporter", column="reporter", value="MIDDLE"),
    *(
        replace(fault, column="interface_id") if fault.column == "account_id" else fault
        for fault in TEXT_FAULTS
        if fault.edit is LineEdit.FIELD
    ),
    RowFault(reason="malformed:json", column="end", edit=LineEdit.CUT, hides_bytes=True),
)
AZURE_FAULTS = (
    *(fault for fault in LOG_FAULTS if fault.column not in {"end", "log_status"}),
    RowFault(reason="malformed:flow_direction", column="flow_direction", value="sideways"),
    RowFault(reason="malformed:flow_state", column="flow_state", value="X"),
    *(fault for fault in TEXT_FAULTS if fault.edit is LineEdit.FIELD and fault.column in LOG_TEXTS),
    *(fault for fault in TEXT_FAULTS if fault.edit in {LineEdit.CUT, LineEdit.MORE}),
)
TGW_FAULTS = (
    *LOG_FAULTS,
    RowFault(reason="malformed:flow_direction", column="flow_direction", value="sideways"),
    RowFault(reason="malformed:flow_direction", column="flow_direction"),
    *TEXT_FAULTS,
)
OBI_FAULTS = (
    *(fault for fault in LOG_FAULTS if fault.column not in {"packets", "protocol", "log_status"}),
    RowFault(reason="malformed:reporter", column="obi_ip"),
    *(
        replace(fault, column="interface_id") if fault.column == "account_id" else fault
        for fault in TEXT_FAULTS
        if fault.reason in {"malformed:bytes", "malformed:start", "malformed:charset"}
    ),
    RowFault(reason="malformed:json", column="end", edit=LineEdit.CUT, hides_bytes=True),
)
CANONICAL_FAULTS = (
    RowFault(reason="malformed:kind", column="kind", value="eat"),
    RowFault(reason="malformed:bytes", column="bytes", value=-5, hides_bytes=True),
    RowFault(reason="malformed:bytes", column="bytes", hides_bytes=True),
    RowFault(reason="malformed:cluster", column="cluster"),
    RowFault(reason="malformed:cluster", column="cluster", value="elsewhere"),
    RowFault(reason="malformed:broker_id", column="broker_id"),
    RowFault(reason="malformed:broker_id", column="broker_id", value=NO_BROKER),
    RowFault(reason="malformed:peer_broker_id", column="peer_broker_id", value=NO_BROKER),
    RowFault(reason="malformed:window_start", column="window_start"),
    RowFault(reason="malformed:window_s", column="window_s", value=-1),
    RowFault(reason="malformed:partition", column="partition", value=-1),
    RowFault(reason="malformed:packets", column="packets", value=-1),
    RowFault(reason="malformed:source", column="source", value="rumour"),
    RowFault(reason="malformed:client_address", column="client_address", value="10.0.0.256"),
)


FAULTS_OF: Mapping[FlowFormat, tuple[RowFault, ...]] = {
    FlowFormat.CANONICAL: CANONICAL_FAULTS,
    FlowFormat.GCP: GCP_FAULTS,
    FlowFormat.AZURE: AZURE_FAULTS,
    FlowFormat.TGW: TGW_FAULTS,
    FlowFormat.OBI: OBI_FAULTS,
}
"""Format -> its faults; those of VPC flow logs of AWS depend on the version."""


def faults_of(options: FleetOptions) -> tuple[RowFault, ...]:
    """The faults that files of these options can hold."""
    if (own := FAULTS_OF.get(options.flow_format)) is not None:
        return own
    later = LATER_FAULTS if options.has_direction else ()
    text = TEXT_FAULTS if options.flow_format is FlowFormat.VPC_TEXT else ()
    return (*LOG_FAULTS, *later, *text)


def spoil_rows(
    columns: Mapping[str, FlowTextColumn | FlowNumberColumn],
    rows: NDArray[np.int64],
    faults: Sequence[RowFault],
) -> tuple[dict[str, FlowTextColumn | FlowNumberColumn], tuple[SpoiledLine, ...]]:
    """The columns with fault `i mod len(faults)` in row `rows[i]`, and the edits of text lines."""
    changed = dict(columns)
    in_text: list[SpoiledLine] = []
    for place, fault in enumerate(faults[: len(rows)]):
        spoiled = rows[place :: len(faults)]
        if fault.edit is not None:
            in_text += [
                SpoiledLine(
                    row=int(row), edit=fault.edit, column=fault.column, text=str(fault.value or "")
                )
                for row in spoiled
            ]
        else:
            changed[fault.column] = _change_column(changed, spoiled, fault)
    return changed, tuple(sorted(in_text, key=lambda spoil: spoil.row))


def _change_column(
    columns: Mapping[str, FlowTextColumn | FlowNumberColumn],
    rows: NDArray[np.int64],
    fault: RowFault,
) -> FlowTextColumn | FlowNumberColumn:
    column, start = columns[fault.column], columns.get("start")
    if isinstance(column, FlowTextColumn):
        codes = column.codes.copy()
        codes[rows] = MISSING if fault.value is None else len(column.words)
        return FlowTextColumn(codes, (*column.words, str(fault.value)))
    values, is_missing = column.values.copy(), column.is_missing.copy()
    is_missing[rows] = fault.value is None
    if fault.value is None:
        values[rows] = 0
    elif fault.is_from_start and isinstance(start, FlowNumberColumn):
        values[rows] = start.values[rows] + int(fault.value)
    else:
        values[rows] = int(fault.value)
    return FlowNumberColumn(values, is_missing, column.is_time)
