"""Rows of an address table: the rack of one address from one time to another.

Goals, in order: an address has one rack at a time; a row that ended keeps its times, because
traffic of last week is still billed; the same listing twice changes nothing.

Merging. A new listing is merged into a table. A row is the same row if address, rack, owner and
start are equal. An open row that the listing lacks ends at the time of the listing, or at the start
of the next row of its address, if that is earlier:

```
table      10.1.0.7  a  shop/cart   09:00 ..
listing    10.1.0.7  b  shop/pay    11:30 ..         at 12:00

merged     10.1.0.7  a  shop/cart   09:00 .. 11:30
           10.1.0.7  b  shop/pay    11:30 ..
```

An address that is used again between two listings may have had a third owner in between: nobody saw
it, so the first row has that time. More frequent listings make the gap smaller.

A listing may be older than the table. It ends no row that begins after it, and it opens no row that
ends after it. A listed row without a start takes that of the table's row that applies then and has
the same rack and owner. If the table has only other rows of the address, it begins at the time of
the listing.

What this does not do: read files; decide which rack a pod has (`kubernetes`), or a machine
(`clouds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidAddresses
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rackwise.core.racks import Rack


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRow:
    """The rack of an address during an interval; times are UTC."""

    address: str
    """As `ipaddress` writes it."""
    rack: Rack
    owner: str = ""
    """Workload or machine; empty if several share the address, or if it is not known."""
    start: datetime | None = None
    """The first moment; None: not known, the row has no beginning."""
    end: datetime | None = None
    """The first moment after the row; None: it has not ended."""
    where: str = ""
    """File and line, or the object that the row is made from, for messages."""

    @property
    def identity(self) -> tuple[str, str, str, datetime | None]:
        """What makes rows of two listings the same row."""
        return self.address, self.rack.text, self.owner, self.start


def canonical_address(text: str) -> str | None:
    """An address as `ipaddress` writes it; None if the text is no address.

    >>> canonical_address("2001:DB8:0:0::7"), canonical_address("10.0.0.256")
    ('2001:db8::7', None)
    """
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return None if "%" in text else str(address)


def instant(text: str) -> datetime | None:
    """A time with its zone, as UTC; None if the text is not one.

    >>> instant("2026-11-26T09:00:00Z").isoformat(), instant("2026-11-26T09:00:00")
    ('2026-11-26T09:00:00+00:00', None)
    """
    try:
        found = datetime.fromisoformat(text)
        # The first and the last day of the calendar are not all within it as UTC: OverflowError.
        return found.astimezone(UTC) if "T" in text and found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def merged(
    table: Iterable[AddressRow],
    listing: Iterable[AddressRow],
    *,
    at: datetime,
    is_listed: Callable[[AddressRow], bool] = lambda _row: True,
) -> tuple[AddressRow, ...]:
    """The rows of a table after a listing that was made `at`, in order of address and start.

    `is_listed`: whether a listing can contain a row; open rows that it cannot contain stay open.
    Raises `InvalidAddresses`, as `in_order` does.
    """
    by_address = _by_address(table)
    found = {
        each.identity: each
        for each in (_with_start(row, by_address.get(row.address, ()), at) for row in listing)
    }
    kept: list[AddressRow] = []
    for row in (each for rows in by_address.values() for each in rows):
        listed = found.get(row.identity)
        if listed is None:
            is_gone = row.end is None and is_listed(row) and (row.start is None or row.start < at)
            kept.append(replace(row, end=at) if is_gone else row)
        elif listed.end is None and row.end is not None and at < row.end:
            found[row.identity] = row
    return in_order([*kept, *found.values()])


def in_order(rows: Iterable[AddressRow]) -> tuple[AddressRow, ...]:
    """Rows in order of address and start; each ends where the next one of its address begins.

    Equal rows are kept once, rows that never applied are left out. Raises `InvalidAddresses` if two
    rows of an address begin at the same time in two racks.
    """
    distinct = {(row.identity, row.end): row for row in rows}.values()
    ordered = [row for row in sorted(distinct, key=_order) if row.start is None or _lasts(row)]
    result: list[AddressRow] = []
    for row, following in zip(ordered, [*ordered[1:], None], strict=False):
        if following is None or following.address != row.address:
            result.append(row)
            continue
        if following.start == row.start and following.rack != row.rack:
            raise _two_racks(row, following)
        if _overlaps(row, following) and (row.end is None or following.start is not None):
            row = replace(row, end=following.start)  # noqa: PLW2901 (the row that is kept)
        if row.start is None or _lasts(row):
            result.append(row)
    return tuple(result)


def check_one_rack(rows: Iterable[AddressRow]) -> None:
    """Check that an address never has two racks at one time. Raises `InvalidAddresses`."""
    last: dict[str, AddressRow] = {}
    for row in sorted(rows, key=_order):
        earlier = last.get(row.address)
        if earlier is not None and _overlaps(earlier, row):
            if earlier.rack != row.rack:
                raise _two_racks(earlier, row)
            if earlier.end is None or (row.end is not None and row.end <= earlier.end):
                continue
        last[row.address] = row


class RacksAtTimes:
    """The rack of an address at a time."""

    def __init__(self, rows: Iterable[AddressRow]) -> None:
        self._rows = _by_address(rows)

    def find(self, address: str, at: datetime) -> Rack | None:
        """The rack of the row that applies; None if none does, or if the text is no address."""
        own = self._rows.get(canonical_address(address) or "", ())
        return next((row.rack for row in own if _applies(row, at)), None)


def _by_address(rows: Iterable[AddressRow]) -> dict[str, list[AddressRow]]:
    found: dict[str, list[AddressRow]] = {}
    for row in rows:
        found.setdefault(row.address, []).append(row)
    return found


def _with_start(row: AddressRow, own: Sequence[AddressRow], at: datetime) -> AddressRow:
    """A listed row; one without a start takes it from the table's rows `own` of its address."""
    if row.start is not None or not own or not _applies(row, at):
        return row
    same = (each for each in own if (each.rack, each.owner) == (row.rack, row.owner))
    return replace(row, start=next((each.start for each in same if _applies(each, at)), at))


def _applies(row: AddressRow, at: datetime) -> bool:
    return (row.start is None or row.start <= at) and (row.end is None or at < row.end)


def _overlaps(earlier: AddressRow, later: AddressRow) -> bool:
    """Whether a row still applies when a later one begins."""
    return earlier.end is None or later.start is None or later.start < earlier.end


def _lasts(row: AddressRow) -> bool:
    return row.end is None or row.start is None or row.start < row.end


def _order(row: AddressRow) -> tuple[int, int, float, float, str, str]:
    address = ip_address(row.address)
    start = float("-inf") if row.start is None else row.start.timestamp()
    end = float("inf") if row.end is None else row.end.timestamp()
    return address.version, int(address), start, end, row.owner, row.rack.text


def _two_racks(first: AddressRow, second: AddressRow) -> InvalidAddresses:
    return InvalidAddresses(
        f"invalid racks of {first.address}: expected one rack at a time, got "
        f"{escaped(first.rack.text)} in {escaped(first.where)} and {escaped(second.rack.text)} in "
        f"{escaped(second.where)}",
        wanted=first.rack.text,
        had=second.rack.text,
        hint="keep one of the two, or write when one ends and the other begins; networks that "
        "use the same addresses need a table and a run each",
        where=second.where,
    )
