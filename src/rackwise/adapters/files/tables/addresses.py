"""Address tables: the racks of single addresses, with times, as CSV.

```
address,rack,owner,from,to
10.1.0.7,use1-az1,shop/cart,2026-11-26T09:00:00Z,
```

A row applies from `from` on and before `to`. If `from` is empty, the row has no beginning; if `to`
is empty, it has not ended. Times have a zone. At one time an address has one rack.

What this does not do: look an address up (the pipeline does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.csv import CsvRow, table_of
from rackwise.core.errors import InvalidAddresses
from rackwise.core.inventory.addresses import (
    AddressRow,
    canonical_address,
    check_one_rack,
    instant,
)
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from pathlib import Path

ADDRESS_COLUMNS = ("address", "rack", "owner", "from", "to")


def read_addresses(path: str | Path, *, max_bytes: int = MAX_BYTES) -> tuple[AddressRow, ...]:
    """The rows of an address table, in the file's order.

    Raises `InvalidConfig` if the path is no readable regular file, `InvalidAddresses`.
    """
    data = read_bytes(path, error=InvalidAddresses, max_bytes=max_bytes)
    return parse_addresses(data, where=str(path))


def parse_addresses(data: bytes, *, where: str) -> tuple[AddressRow, ...]:
    """The rows in the content of an address table. Raises `InvalidAddresses`."""
    table = table_of(
        data,
        where=where,
        error=InvalidAddresses,
        required=ADDRESS_COLUMNS[:2],
        optional=ADDRESS_COLUMNS[2:],
    )
    rows = tuple(_address_row(row) for row in table.rows)
    table.faults.raise_if_any()
    check_one_rack(rows)
    return rows


def address_cells(rows: Iterable[AddressRow]) -> list[Sequence[str | None]]:
    """The cells of rows, as the columns `ADDRESS_COLUMNS`; None is an empty cell."""
    return [
        (
            row.address,
            row.rack.text,
            row.owner or None,
            time_text(row.start) if row.start else None,
            time_text(row.end) if row.end else None,
        )
        for row in rows
    ]


def time_text(at: datetime) -> str:
    """A time of UTC as `2026-11-26T09:00:00Z`."""
    return at.isoformat().replace("+00:00", "Z")


def _address_row(row: CsvRow) -> AddressRow:
    address = canonical_address(row["address"])
    if address is None:
        row.wrong("address", "an IP address", hint="write one address, such as 10.1.0.7")
    if not Rack(row["rack"]).is_sound:
        row.wrong("rack", "a rack", hint="write a rack such as /eu/a or use1-az1")
    times = {}
    for column in ("from", "to"):
        times[column] = instant(row[column])
        if row[column] and times[column] is None:
            row.wrong(
                column, "a time with its zone", hint="write a time such as 2026-11-26T09:00:00Z"
            )
    start, end = times["from"], times["to"]
    if start is not None and end is not None and end < start:
        row.wrong("to", "a time after from", hint="exchange the two times")
    return AddressRow(
        address=address or "0.0.0.0",  # noqa: S104 (a stand-in: the faults are raised)
        rack=Rack(row["rack"]),
        owner=row["owner"],
        start=start,
        end=end,
        where=row.where,
    )
