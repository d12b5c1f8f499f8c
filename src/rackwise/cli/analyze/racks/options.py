"""Options of `rackwise racks`, and what its commands do with them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.shell import Shell
from rackwise.cli.source import utc_now
from rackwise.cli.usage.combined import reject_combined
from rackwise.core.errors import InvalidConfig
from rackwise.core.inventory.zones import ZoneForm
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from rackwise.core.errors import InputError
    from rackwise.core.inventory.addresses import AddressRow
    from rackwise.core.inventory.kubernetes import InventoryRows

STDIN = "-"

OutFile = Annotated[
    Path | None,
    typer.Option(metavar="CSV", help="Write the table to this file. [default: standard output]"),
]


@dataclass(frozen=True, kw_only=True)
class ZoneOptions:
    """Options that convert zones."""

    zones: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Convert zones by this table: columns name,id."),
    ] = None
    as_: Annotated[
        ZoneForm | None,
        typer.Option("--as", help="Write racks as ids or as names of zones; requires --zones."),
    ] = None

    def __post_init__(self) -> None:
        """Check that both are given, or none."""
        if (self.zones is None) != (self.as_ is None):
            raise InvalidConfig(
                "expected both --zones and --as, got one of them",
                wanted="--zones and --as",
                had="--as" if self.zones is None else "--zones",
                hint="for example --zones zones.csv --as id",
            )

    def convert(self, shell: Shell, found: InventoryRows) -> InventoryRows:
        """The same rows with racks in the form of `--as`. Raises `InvalidAddresses`."""
        if self.zones is None or self.as_ is None:
            return found
        from rackwise.adapters.files.tables.zones import read_zones
        from rackwise.core.racks import Rack

        zones = read_zones(self.zones, max_bytes=shell.max_input)
        form = self.as_
        return replace(
            found,
            rows=tuple(
                replace(row, rack=Rack(zones.converted(row.rack.text, form))) for row in found.rows
            ),
        )


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options of commands that write an address table."""

    out: OutFile = None
    merge: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Merge into the table in this file: rows that are gone get an end.",
        ),
    ] = None
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time of the listing, UTC. [default: now]"),
    ] = None

    def __post_init__(self) -> None:
        """Check that one file is written."""
        if self.merge is not None:
            reject_combined(
                "--merge",
                ["--out"] if self.out is not None else [],
                hint="--merge FILE reads and writes FILE",
            )

    @property
    def time(self) -> datetime:
        """The time of the listing. Raises `InvalidConfig`."""
        from rackwise.core.inventory.addresses import instant

        found = instant(utc_now() if self.at is None else self.at)
        if found is None:
            raise InvalidConfig(
                f"invalid --at: expected a time with its zone, got {escaped(self.at or '')}",
                wanted="2026-11-26T09:00:00Z",
                had=self.at,
                hint="for example --at 2026-11-26T09:00:00Z",
            )
        return found


def read_input(shell: Shell, file: str, error: type[InputError]) -> tuple[bytes, str]:
    """The content of a file, or of standard input for `-`, and its name in messages."""
    from rackwise.adapters.files.bounded_read import read_bytes, read_stream

    if file == STDIN:
        name = "standard input"
        return read_stream(sys.stdin.buffer, name=name, max_bytes=shell.max_input), name
    return read_bytes(file, error=error, max_bytes=shell.max_input), file


def write_addresses(
    shell: Shell,
    found: InventoryRows,
    options: TableOptions,
    *,
    is_listed: Callable[[AddressRow], bool] = lambda _row: True,
) -> int:
    """Write an address table, merged if the options say so. The exit code."""
    from rackwise.adapters.files.tables.addresses import (
        ADDRESS_COLUMNS,
        address_cells,
        read_addresses,
        time_text,
    )
    from rackwise.adapters.files.writing import csv_text
    from rackwise.cli.analyze.racks.documents import AddressesDocument, AddressRowDocument
    from rackwise.core.inventory.addresses import in_order, merged

    at = options.time
    rows = in_order(found.rows)
    if options.merge is not None and options.merge.exists():
        table = read_addresses(options.merge, max_bytes=shell.max_input)
        rows = merged(table, rows, at=at, is_listed=is_listed)
    for note in found.notes:
        shell.warn(note)
    cells = address_cells(rows)
    file = options.merge or options.out
    document = AddressesDocument(
        at=time_text(at),
        file=None if file is None else str(file),
        rows=tuple(
            AddressRowDocument(
                address=row.address,
                rack=row.rack.text,
                owner=row.owner or None,
                start=time_text(row.start) if row.start else None,
                end=time_text(row.end) if row.end else None,
            )
            for row in rows
        ),
        notes=found.notes,
    )
    open_rows = sum(row.end is None for row in rows)
    write_table(
        shell,
        file,
        csv_text(ADDRESS_COLUMNS, cells),
        document,
        f"{counted(len(rows), 'row')}, {open_rows} of them without an end",
    )
    return 0


def write_table(shell: Shell, file: Path | None, text: str, document: object, counts: str) -> None:
    """Write a table to a file or to stdout, and show the document with `--json`."""
    if file is not None:
        from rackwise.adapters.files.writing import write_text

        write_text(file, text)
    if shell.is_json:
        shell.document(document)
    elif file is None:
        shell.data(text.removesuffix("\n"))
    else:
        shell.text(f"{escaped(str(file))}: {counts}")
