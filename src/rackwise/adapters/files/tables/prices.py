"""Price tables: CSV rows with the price of a gigabyte that crosses a level.

```
provider,region,level,kind,usd_per_gb_out,usd_per_gb_in,gb_bytes,valid_from,valid_to,source,is_checked
aws,*,zone,*,0.01,0.01,1073741824,2013-08-10,,https://aws.amazon.com/ec2/pricing/on-demand/,true
```

Dollars are decimal texts with at most nine digits behind the point and become integers of
nano-dollars, so no rounding happens here. `region`, `level` and `kind` may be `*`. A row is valid
on `valid_from <= day < valid_to`; an empty `valid_to` is open.

A connection with a separate meter, such as PrivateLink, is a separate provider. The sender pays
`out` and the receiver pays `in`, so a service that pays for its own side has rows by kind:

```
confluent-cloud,*,zone,produce,0.01,0,..     the client sends: the client pays its side
confluent-cloud,*,zone,fetch,0,0.01,..       the client receives: the client pays its side
confluent-cloud,*,zone,replicate,0,0,..      both ends belong to the service
```

In the shipped table `valid_from` is the first day for which a source shows the price. `is_checked`
is true if the price was compared with `source`. Prices between regions depend on both
regions, and rows know only the sender's: they are not checked. `docs/reference/prices.md` has the
evidence of each row.

What this does not do: choose a price, or tell that two rows are equally specific (`core.traffic`
does both, per day); hold prices per hour, or tiers by volume.
"""

from __future__ import annotations

import csv
import io
import re
from datetime import date
from importlib.resources import files
from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.csv import CsvRow, table_of
from rackwise.core.errors import InvalidPrices
from rackwise.core.traffic import ANY, Price, exact_usd_text, nano_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

COLUMNS = (
    "provider",
    "region",
    "level",
    "kind",
    "usd_per_gb_out",
    "usd_per_gb_in",
    "gb_bytes",
    "valid_from",
    "valid_to",
    "source",
    "is_checked",
)
KINDS = ("produce", "fetch", "replicate", "other")
SHIPPED = "prices.csv"
"""The table that comes with the package."""

_EVERY_BYTE = (
    "{provider}: {what} also charges for bytes that stay in a rack: the bill does not have them, "
    "and a saving that keeps bytes in a rack does not lower this charge"
)
_NOTES: Mapping[str, str] = {
    "aws-privatelink": _EVERY_BYTE.format(provider="aws-privatelink", what="the endpoint"),
    "aws-transit-gateway": _EVERY_BYTE.format(
        provider="aws-transit-gateway", what="the Transit Gateway"
    ),
}

_USD = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,9})?")
_GB = re.compile(r"[1-9][0-9]{0,15}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_prices(path: str | Path, *, max_bytes: int = MAX_BYTES) -> tuple[Price, ...]:
    """The rows of a price table, in the file's order; `row` is `file:line`.

    Raises `InvalidConfig` if the path is no readable regular file, `InvalidPrices` for a cell
    that is no price; its hint is a CSV line that would be right.
    """
    data = read_bytes(path, error=InvalidPrices, max_bytes=max_bytes)
    return parse_prices(data, where=str(path))


def shipped_prices() -> tuple[Price, ...]:
    """The rows of the table that comes with the package; `row` is `prices.csv:LINE`."""
    return parse_prices(shipped_price_table(), where=SHIPPED)


def shipped_price_notes(provider: str) -> tuple[str, ...]:
    """What a reader of a bill must know of the shipped prices of a provider."""
    return tuple(note for name, note in _NOTES.items() if name == provider)


def shipped_price_table() -> bytes:
    """The content of the table that comes with the package."""
    return files(__package__).joinpath(SHIPPED).read_bytes()


def parse_prices(data: bytes, *, where: str) -> tuple[Price, ...]:
    """The rows of the content of a price table. Raises `InvalidPrices`."""
    table = table_of(data, where=where, error=InvalidPrices, required=COLUMNS)
    prices = tuple(_price(row) for row in table.rows)
    table.faults.raise_if_any()
    return prices


def price_table(prices: Iterable[Price]) -> str:
    """The text of a table with these rows, which `parse_prices` reads; empty for none."""
    lines = [
        [
            price.provider,
            price.region,
            price.level,
            price.kind,
            exact_usd_text(price.nano_usd_per_gb_out),
            exact_usd_text(price.nano_usd_per_gb_in),
            str(price.gb_bytes),
            price.valid_from.isoformat(),
            "" if price.valid_to is None else price.valid_to.isoformat(),
            price.source,
            str(price.is_checked).lower(),
        ]
        for price in prices
    ]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *lines] if lines else [])
    return text.getvalue()


def _price(row: CsvRow) -> Price:
    for column in ("provider", "region", "level", "source"):
        if not row[column]:
            row.wrong(column, _WANTED[column], hint=_ready(row, column))
    if row["kind"] not in {ANY, *KINDS}:
        row.wrong("kind", _WANTED["kind"], hint=_ready(row, "kind"))
    if row["is_checked"] not in {"true", "false"}:
        row.wrong("is_checked", _WANTED["is_checked"], hint=_ready(row, "is_checked"))
    valid_from = _day(row, "valid_from")
    valid_to = _day(row, "valid_to") if row["valid_to"] else None
    if valid_to is not None and valid_to <= valid_from:
        row.wrong("valid_to", f"a day after {valid_from}, or nothing", hint=_ready(row, "valid_to"))
    return Price(
        provider=row["provider"],
        region=row["region"],
        level=row["level"],
        kind=row["kind"],
        nano_usd_per_gb_out=_nano(row, "usd_per_gb_out"),
        nano_usd_per_gb_in=_nano(row, "usd_per_gb_in"),
        gb_bytes=_gb(row),
        valid_from=valid_from,
        valid_to=valid_to,
        source=row["source"],
        is_checked=row["is_checked"] == "true",
        row=row.where,
    )


def _nano(row: CsvRow, column: str) -> int:
    if _USD.fullmatch(row[column]) is None:
        row.wrong(column, _WANTED[column], hint=_ready(row, column))
        return 0
    return nano_of(row[column])


def _gb(row: CsvRow) -> int:
    if _GB.fullmatch(row["gb_bytes"]):
        return int(row["gb_bytes"])
    row.wrong("gb_bytes", _WANTED["gb_bytes"], hint=_ready(row, "gb_bytes"))
    return 1


def _day(row: CsvRow, column: str) -> date:
    try:
        if _DAY.fullmatch(row[column]):
            return date.fromisoformat(row[column])
    except ValueError:
        pass
    row.wrong(column, _WANTED[column], hint=_ready(row, column))
    return date.min


_PRICE = "dollars of at most 9999999, with at most nine digits behind the point"
_WANTED = {
    "provider": "a provider such as aws",
    "region": "a region, or *",
    "level": "a level such as zone, or *",
    "kind": f"one of {', '.join(KINDS)}, or *",
    "usd_per_gb_out": _PRICE,
    "usd_per_gb_in": _PRICE,
    "gb_bytes": "the bytes of one GB, 1073741824 or 1000000000",
    "valid_from": "a day such as 2026-11-01",
    "valid_to": "a day such as 2026-11-01, or nothing",
    "source": "the page the price stands on",
    "is_checked": "true or false",
}
_RIGHT = {
    "provider": "aws",
    "region": ANY,
    "level": "zone",
    "kind": ANY,
    "usd_per_gb_out": "0.01",
    "usd_per_gb_in": "0.01",
    "gb_bytes": str(2**30),
    "valid_from": "2026-11-01",
    "valid_to": "",
    "source": "https://example.com/prices",
    "is_checked": "false",
}


def _ready(row: CsvRow, column: str) -> str:
    """A line to put in the row's place: its own cells, with one that is right in the column."""
    cells = {**row.cells, column: _RIGHT[column]}
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="").writerow([cells[name] for name in COLUMNS])
    return f"for example: {line.getvalue()}"
