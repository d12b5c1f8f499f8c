"""Tables of owners: which owner pays for a topic or a client group.

```
topic,group,owner
orders.*,,shop
,batch-*,data platform
```

The columns are `owner` and `topic`, `group` or both. Each row has one glob, of topics or of groups;
the rows count in their order (see `core.owners`).

What this does not do: check that a glob matches something (the notes of a run say so).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.csv import table_of
from rackwise.core.errors import InvalidOwners
from rackwise.core.owners import OwnerGlob, Owners

if TYPE_CHECKING:
    from pathlib import Path

OWNER_COLUMNS = ("topic", "group")


def read_owners(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Owners:
    """The owners in a file.

    Raises `InvalidConfig` if the path is no readable regular file, `InvalidOwners`.
    """
    return parse_owners(read_bytes(path, error=InvalidOwners, max_bytes=max_bytes), where=str(path))


def parse_owners(data: bytes, *, where: str) -> Owners:
    """The owners in the content of a table. Raises `InvalidOwners`."""
    table = table_of(
        data, where=where, error=InvalidOwners, required=("owner",), optional=OWNER_COLUMNS
    )
    found: dict[str, list[OwnerGlob]] = {column: [] for column in OWNER_COLUMNS}
    for row in table.rows:
        named = [column for column in OWNER_COLUMNS if row[column]]
        if len(named) != 1:
            row.wrong(
                named[-1] if named else OWNER_COLUMNS[0],
                "a glob in one of the columns topic and group",
                hint="give the topic and the group a row each",
            )
            continue
        if not row["owner"]:
            row.wrong("owner", "the name of an owner", hint="write a team, or delete the row")
        glob = OwnerGlob(glob=row[named[0]], owner=row["owner"], line=row.line)
        found[named[0]].append(glob)
    table.faults.raise_if_any()
    return Owners(topics=tuple(found["topic"]), groups=tuple(found["group"]))
