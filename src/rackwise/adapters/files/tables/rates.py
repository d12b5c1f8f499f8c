"""Rate tables and client tables: rates and racks that no log contains, as CSV.

```
cluster,topic,bytes_in_per_s,client_group,bytes_out_per_s          client_group,rack
demo,orders,314572800,,                                            billing,/eu/a
demo,orders,,billing,314572800                                     search,/eu/b
```

A rate is an integer in bytes per second; an empty cell is unknown. A client table has `rack` and
one or more of `client_id`, `client_group`, `principal`; a row names one client by one of them.

What this does not do: put rows of one topic together (`core.traffic.rates_of` does).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.csv import CsvRow, table_of
from rackwise.core.errors import InvalidRack, InvalidRates
from rackwise.core.racks import Rack
from rackwise.core.text import escaped
from rackwise.core.traffic import MAX_RATE, RateRow

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RATE_COLUMNS = ("cluster", "topic", "bytes_in_per_s", "client_group", "bytes_out_per_s")
CLIENT_COLUMNS = ("client_id", "client_group", "principal")
"""What a row of a client table may name a client by."""

_MAX_DIGITS = len(str(MAX_RATE))


def read_rates(path: str | Path, *, max_bytes: int = MAX_BYTES) -> tuple[RateRow, ...]:
    """The rows of a rate table, in the file's order; rates in bytes per second.

    Raises `InvalidConfig` if the path is no readable regular file, `InvalidRates`.
    """
    data = read_bytes(path, error=InvalidRates, max_bytes=max_bytes)
    return parse_rates(data, where=str(path))


def parse_rates(data: bytes, *, where: str) -> tuple[RateRow, ...]:
    """The rows of the content of a rate table. Raises `InvalidRates`."""
    table = table_of(
        data,
        where=where,
        error=InvalidRates,
        required=RATE_COLUMNS[:2],
        optional=RATE_COLUMNS[2:],
    )
    rates = tuple(_rate_row(row) for row in table.rows)
    table.faults.raise_if_any()
    return rates


def read_clients(
    path: str | Path, *, max_bytes: int = MAX_BYTES
) -> Mapping[str, Mapping[str, Rack]]:
    """The racks of a client table: `client_id`, `client_group` or `principal` -> name -> rack.

    Raises `InvalidConfig` if the path is no readable regular file, `InvalidRates`,
    `InvalidRack`.
    """
    data = read_bytes(path, error=InvalidRates, max_bytes=max_bytes)
    return parse_clients(data, where=str(path))


def parse_clients(data: bytes, *, where: str) -> Mapping[str, Mapping[str, Rack]]:
    """The racks in the content of a client table. Raises `InvalidRates`, `InvalidRack`."""
    table = table_of(
        data, where=where, error=InvalidRates, required=("rack",), optional=CLIENT_COLUMNS
    )
    racks: dict[str, dict[str, Rack]] = {column: {} for column in CLIENT_COLUMNS}
    for row in table.rows:
        named = [column for column in CLIENT_COLUMNS if row[column]]
        if len(named) != 1:
            row.wrong(
                ", ".join(named) or CLIENT_COLUMNS[0],
                "one of client_id, client_group and principal",
                hint="give each client a row of its own",
            )
            continue
        rack = _rack(row)
        if racks[named[0]].setdefault(row[named[0]], rack) != rack:
            row.wrong(named[0], "one rack per client", hint="keep one of its two lines")
    table.faults.raise_if_any()
    return MappingProxyType({kind: MappingProxyType(names) for kind, names in racks.items()})


def _rack(row: CsvRow) -> Rack:
    rack = Rack(row["rack"])
    try:
        rack.levels  # noqa: B018 (reading it is the check)
    except InvalidRack as error:
        raise InvalidRack(
            f"invalid {escaped(row.where)}: {error.message}",
            wanted=error.wanted,
            had=error.had,
            hint="write a rack such as /eu/a or use1-az1",
            where=row.where,
        ) from None
    return rack


def _rate_row(row: CsvRow) -> RateRow:
    for column in ("cluster", "topic"):
        if not row[column]:
            row.wrong(column, f"the name of a {column}")
    if not row["bytes_in_per_s"] and not row["bytes_out_per_s"]:
        row.wrong("bytes_in_per_s", "a rate, here or in bytes_out_per_s")
    if bool(row["client_group"]) != bool(row["bytes_out_per_s"]):
        column = "bytes_out_per_s" if row["client_group"] else "client_group"
        row.wrong(column, "a value", hint="client_group and bytes_out_per_s go together")
    return RateRow(
        cluster=row["cluster"],
        topic=row["topic"],
        bytes_in_per_s=_rate(row, "bytes_in_per_s"),
        client_group=row["client_group"] or None,
        bytes_out_per_s=_rate(row, "bytes_out_per_s"),
    )


def _rate(row: CsvRow, column: str) -> int | None:
    text = row[column]
    if not text:
        return None
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    if is_number and int(text) <= MAX_RATE:
        return int(text)
    row.wrong(
        column, f"bytes per second, an integer of 0 to {MAX_RATE}", hint="write 314572800, no unit"
    )
    return 0
