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

What this does not do: read files; decide which rack a pod has (`kubernetes`), or a machine
(`clouds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import ip_address
from itertools import pairwise
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidAddresses
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
    except ValueError:
        return None
    return found.astimezone(UTC) if "T" in text and found.tzinfo is not None else None


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
    found = {row.identity: row for row in listing}
    kept: list[AddressRow] = []
    for row in table:
        if row.identity in found:
            continue
        is_gone = row.end is None and is_listed(row)
        kept.append(replace(row, end=at) if is_gone else row)
    return in_order([*kept, *found.values()])


def in_order(rows: Iterable[AddressRow]) -> tuple[AddressRow, ...]:
    """Rows in order of address and start; each ends where the next one of its address begins.

    Equal rows are kept once, rows that never applied are left out. Raises `InvalidAddresses` if two
    rows of an address begin at the same time in two racks.
    """
    distinct = {(row.identity, row.end): row for row in rows}.values()
    ordered = [row for row in sorted(distinct, key=_order) if row.start is None or _lasts(row)]
    result: list[AddressRow] = []
    for row, following in pairwise([*ordered, None]):
        if row is None:
            continue
        if following is None or following.address != row.address:
            result.append(row)
            continue
        if following.start == row.start and following.rack != row.rack:
            raise _two_racks(row, following)
        if _overlaps(row, following):
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


def constant_racks(rows: Iterable[AddressRow]) -> dict[str, Rack]:
    """Address -> rack, of the addresses that have the same rack in all their rows."""
    racks: dict[str, set[Rack]] = {}
    for row in rows:
        racks.setdefault(row.address, set()).add(row.rack)
    return {address: found.pop() for address, found in racks.items() if len(found) == 1}


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
        hint="keep one of the two, or write when one ends and the other begins; addresses of two "
        "networks that overlap belong into two tables",
        where=second.where,
    )
