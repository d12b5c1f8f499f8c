"""Zone tables: the name and the id of each zone, as CSV.

```
name,id
us-east-1a,use1-az4
```

`aws ec2 describe-availability-zones` and `az account list-locations` show both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.csv import table_of
from rackwise.core.errors import InvalidAddresses
from rackwise.core.inventory.zones import ZonePair, ZoneTable

if TYPE_CHECKING:
    from pathlib import Path

ZONE_COLUMNS = ("name", "id")


def read_zones(path: str | Path, *, max_bytes: int = MAX_BYTES) -> ZoneTable:
    """The zones in a file.

    Raises `InvalidConfig` if the path is no readable regular file, `InvalidAddresses`.
    """
    data = read_bytes(path, error=InvalidAddresses, max_bytes=max_bytes)
    return parse_zones(data, where=str(path))


def parse_zones(data: bytes, *, where: str) -> ZoneTable:
    """The zones in the content of a file. Raises `InvalidAddresses`."""
    table = table_of(data, where=where, error=InvalidAddresses, required=ZONE_COLUMNS)
    for row in table.rows:
        for column in ZONE_COLUMNS:
            if not row[column]:
                row.wrong(column, f"the {column} of a zone")
    table.faults.raise_if_any()
    return ZoneTable(
        ZonePair(name=row["name"], id=row["id"], where=row.where) for row in table.rows
    )
