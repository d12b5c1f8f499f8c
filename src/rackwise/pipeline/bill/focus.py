"""The bill as a FOCUS dataset: `csv/focus.csv`, with the columns of FOCUS 1.2.

FOCUS (FinOps Open Cost and Usage Specification, focus.finops.org) is the format in which tools for
cloud costs read bills. Goals, in order: a file that the specification allows; its `BilledCost` sums
to the dollars of the bill, to the nano-dollar; a row names who used what.

One row is a charge: what one client group caused on one topic on one day by crossing racks, for one
kind of traffic, level, price and region of the sender:

```
ChargePeriodStart  SubAccountId  ResourceId  Tags                                BilledCost
2026-11-01T00:..Z  prod-eu       orders      {"group":"billing","owner":"shop"}  0.120000000
2026-11-01T00:..Z  prod-eu       orders      {"group":null,"owner":"shop"}       0.180000000
```

Local bytes cost nothing and are no charge. Bytes without a known rack or price are no charge
either: their cost is not known, and FOCUS requires a cost. A note says how many bytes are left out.

What this does not do: name the account that the provider bills. `BillingAccountId` is a text that
says that the bill is an estimate; replace it where you load the file.
"""

from __future__ import annotations

import json
from datetime import date, timedelta
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from rackwise.core.owners import UNOWNED
from rackwise.core.traffic import REGION
from rackwise.pipeline.bill.roll_ups import as_usd
from rackwise.pipeline.columns.groups import summed
from rackwise.pipeline.schemas import UNKNOWN_GROUP, UNKNOWN_TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rackwise.core.traffic import Price
    from rackwise.pipeline.bill.model import Standing

ACCOUNT: Final = "rackwise-estimate"
"""`BillingAccountId`: Rackwise does not know the account that the provider bills."""
COLUMNS: Final = (
    *("BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency"),
    *("BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargeClass"),
    *("ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart"),
    *("ConsumedQuantity", "ConsumedUnit", "ContractedCost", "EffectiveCost", "InvoiceIssuerName"),
    *("ListCost", "PricingCategory", "PricingQuantity", "PricingUnit", "ProviderName"),
    *("PublisherName", "RegionId", "RegionName", "ResourceId", "ResourceName", "ResourceType"),
    *("ServiceCategory", "ServiceName", "ServiceSubcategory", "SubAccountId", "SubAccountName"),
    *("SubAccountType", "Tags", "x_TrafficKind"),
)
"""The columns of the file: those that FOCUS requires, those that apply, and one of Rackwise."""
CHARGE: Final = (
    *("day", "cluster", "topic", "client_group", "owner", "kind", "level_name"),
    *("region", "price_row"),
)
"""What identifies a charge, in the order of the rows."""
_UNITS: Final = {2**30: "GiB", 10**9: "GB", 10**12: "TB", 2**40: "TiB", 10**6: "MB", 2**20: "MiB"}
_QUANTITY: Final = Decimal("1e-12")
_EXACT: Final = Context(prec=60)
_DECEMBER: Final = 12


def charges(cross_rack: pa.Table, levels: Sequence[str]) -> pa.Table:
    """The rows that cost something, by what a charge is about; `cross_rack`: CROSS_RACK.

    `levels`: names of the rack levels, coarsest first.
    """
    is_charge = pc.and_(pc.greater(cross_rack["level"], 0), pc.greater(cross_rack["bytes"], 0))
    rows = cross_rack.filter(pc.and_(is_charge, pc.is_valid(cross_rack["usd"])))
    rows = rows.append_column("region", _regions(rows["from_rack"], levels))
    found = summed(rows, CHARGE, ["bytes", "usd"])
    place = found.column_names.index("usd")
    return found.set_column(place, "usd", as_usd(found["usd"]))


def focus_csv(
    parts: Sequence[pa.Table], prices: Iterable[Price]
) -> tuple[tuple[str, ...], Iterator[list[object]]]:
    """Columns and rows of the file. `parts`: the `charges` of clusters; `prices`: of the rows."""
    by_row = {price.row: price for price in prices}
    batches = _ordered(pa.concat_tables(parts)).to_batches() if parts else ()
    rows = (row for batch in batches for row in batch.to_pylist())
    return COLUMNS, ([*_charge(row, by_row[row["price_row"]]).values()] for row in rows)


def _ordered(table: pa.Table) -> pa.Table:
    """The rows in order of their keys, null first."""
    places = {name: table[name] for name in CHARGE}
    ranks = {f"has {name}": pc.is_valid(table[name]).cast(pa.int8()) for name in CHARGE}
    order = [(each, "ascending") for name in CHARGE for each in (f"has {name}", name)]
    return table.take(pc.sort_indices(pa.table(places | ranks), order))


def left_out(standings: Iterable[Standing]) -> int:
    """The bytes that are no charge because their rack or their price is not known."""
    return sum(one.bytes for one in standings if one.level != 0 and one.usd is None)


def left_out_notes(standings: Iterable[Standing]) -> tuple[str, ...]:
    """A note if bytes are left out."""
    unknown = left_out(standings)
    if not unknown:
        return ()
    note = (
        f"csv/focus.csv leaves out {unknown} bytes whose racks or price are not known; "
        "give --subnets, --clients and --prices"
    )
    return (note,)


def _regions(racks: pa.ChunkedArray, levels: Sequence[str]) -> pa.Array:
    """The region of each rack; null if no level is called region, or the rack has none."""
    coded = racks.combine_chunks().dictionary_encode()
    names = [_region(rack, levels) for rack in coded.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(coded.indices)


def _region(rack: str, levels: Sequence[str]) -> str | None:
    if REGION not in levels:
        return None
    place = levels.index(REGION)
    if not rack.startswith("/"):
        return rack if place == 0 else None
    return dict(enumerate(rack.split("/"))).get(place + 1)


def _charge(row: Mapping[str, Any], price: Price) -> dict[str, object]:
    """One row of the file, in order of COLUMNS."""
    topic = _known(row["topic"], UNKNOWN_TOPIC)
    cost = row["usd"]
    day: date = row["day"]
    month = day.replace(day=1)
    following = (
        month.replace(year=month.year + 1, month=1)
        if month.month == _DECEMBER
        else month.replace(month=month.month + 1)
    )
    values = {
        "BillingAccountId": ACCOUNT,
        "BillingCurrency": "USD",
        "BillingPeriodStart": _midnight(month),
        "BillingPeriodEnd": _midnight(following),
        "ChargeCategory": "Usage",
        "ChargeDescription": _description(row, topic),
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": _midnight(day),
        "ChargePeriodEnd": _midnight(day + timedelta(days=1)),
        "ConsumedQuantity": row["bytes"],
        "ConsumedUnit": "B",
        "InvoiceIssuerName": price.provider,
        "PricingCategory": "Standard",
        "PricingQuantity": _quantity(row["bytes"], price.gb_bytes),
        "PricingUnit": _UNITS.get(price.gb_bytes, f"{price.gb_bytes} B"),
        "ProviderName": price.provider,
        "PublisherName": price.provider,
        "RegionId": row["region"],
        "RegionName": row["region"],
        "ResourceId": topic,
        "ResourceName": topic,
        "ResourceType": None if topic is None else "Kafka topic",
        "ServiceCategory": "Networking",
        "ServiceName": "Kafka traffic between racks",
        "ServiceSubcategory": "Network Connectivity",
        "SubAccountId": row["cluster"],
        "SubAccountName": row["cluster"],
        "SubAccountType": "Kafka cluster",
        "Tags": _tags(row),
        "x_TrafficKind": row["kind"],
        **{f"{kind}Cost": f"{cost:f}" for kind in ("Billed", "Contracted", "Effective", "List")},
    }
    return {column: values.get(column) for column in COLUMNS}


def _known(name: str, unknown: str) -> str | None:
    return None if name == unknown else name


def _tags(row: Mapping[str, Any]) -> str:
    tags = {
        "group": _known(row["client_group"], UNKNOWN_GROUP),
        "owner": _known(row["owner"], UNOWNED),
    }
    return json.dumps(tags, ensure_ascii=False, separators=(",", ":"))


def _description(row: Mapping[str, Any], topic: str | None) -> str:
    what = "topics that are not known" if topic is None else f"topic {topic}"
    return f"Kafka {row['kind']} traffic of {what} between racks of different {row['level_name']}s"


def _quantity(bytes_: int, gb_bytes: int) -> str:
    """The bytes in units of the price, to twelve digits behind the point.

    >>> _quantity(3 * 2**29, 2**30), _quantity(1, 10**9)
    ('1.5', '0.000000001')
    """
    exact = _EXACT.quantize(_EXACT.divide(Decimal(bytes_), Decimal(gb_bytes)), _QUANTITY)
    return f"{exact.normalize(_EXACT):f}"


def _midnight(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"
