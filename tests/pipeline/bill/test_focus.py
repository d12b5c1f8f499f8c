"""`csv/focus.csv` is a FOCUS 1.2 dataset, and its costs are the bill."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focus_columns import COLUMNS
from rackwise.adapters.files import csv_data
from rackwise.core.errors import InvalidPrices
from rackwise.pipeline.bill.focus import charges, focus_csv, left_out
from rackwise.pipeline.bill.model import Standing
from rackwise.pipeline.schemas import CROSS_RACK, arrow_schema
from small_fleets import CENT, GIB, price

DAY = date(2026, 12, 31)
NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
EU = price(level="zone", nano_usd_per_gb_out=CENT, nano_usd_per_gb_in=CENT)
FAR = price(level="region", gb_bytes=10**9, provider="gcp", nano_usd_per_gb_in=0)
PRICES = {2: EU, 1: FAR}
LEVELS = ("region", "zone")


def gold(rows):
    """CROSS_RACK of rows that differ from a read of `orders` across zones."""

    def whole(row):
        row = {
            "day": DAY,
            "cluster": "prod",
            "kind": "fetch",
            "topic": "orders",
            "client_group": "billing",
            "owner": "shop",
            "from_rack": "/eu/a",
            "to_rack": "/eu/b",
            "level": 2,
            "quality": "measured",
            "bytes": GIB,
        } | row
        used = PRICES.get(row["level"]) if row.get("is_priced", True) else None
        usd = Decimal(0) if row["level"] == 0 else None
        if used is not None:
            nano = used.nano_usd_per_gb_out + used.nano_usd_per_gb_in
            usd = Decimal((2 * row["bytes"] * nano + used.gb_bytes) // (2 * used.gb_bytes))
            usd = usd.scaleb(-9)
        names = {-1: "unknown", 0: "local", 1: "region", 2: "zone"}
        known = {"level_name": names[row["level"]], "usd": usd, "usd_high": usd}
        return row | known | {"price_row": used and used.row, "usd_out": usd, "usd_in": usd}

    made = [whole(row) for row in rows]
    return pa.Table.from_pylist(made, schema=arrow_schema(CROSS_RACK))


def read(text):
    """The rows of a CSV text; an empty cell without quotes is None."""
    header, *lines = text.removesuffix("\n").split("\n")
    names = next(csv.reader([header]))
    found = []
    for line in lines:
        cells = next(csv.reader([line]))
        nulls = [cell == "" for cell in re.findall(r'(?:^|,)("(?:[^"]|"")*"|)', line)]
        found.append(
            {n: None if null else c for n, c, null in zip(names, cells, nulls, strict=True)}
        )
    return names, found


def dataset(rows, levels=LEVELS):
    parts = [charges(gold(rows), levels)]
    return read(csv_data(*focus_csv(parts, PRICES.values())).decode())


def check_focus(names, rows):
    """Law: columns, types, nulls and values are those of the specification, version 1.2."""
    assert len(set(names)) == len(names)
    mandatory = {name for name, (level, *_) in COLUMNS.items() if level == "Mandatory"}
    assert mandatory <= set(names)
    assert {name for name in names if name not in COLUMNS} <= {
        name for name in names if name.startswith("x_")
    }
    for row in rows:
        for name in names:
            _, has_nulls, kind, allowed = COLUMNS.get(name, ("", True, "String", ()))
            value = row[name]
            if value is None:
                assert has_nulls, name
                continue
            assert value, name
            if kind == "Decimal":
                assert NUMBER.fullmatch(value), (name, value)
            if kind == "Date/Time":
                assert TIME.fullmatch(value), (name, value)
            if kind == "JSON":
                tags = json.JSONDecoder().decode(value)
                assert all(not isinstance(tag, dict | list) for tag in tags.values())
            assert not allowed or value in allowed, (name, value)
        _check_row(row)


def _check_row(row):
    """What the specification requires of columns together."""
    for start, end in (
        ("BillingPeriodStart", "ChargePeriodStart"),
        ("ChargePeriodStart", "ChargePeriodEnd"),
        ("ChargePeriodEnd", "BillingPeriodEnd"),
    ):
        assert row[start] <= row[end]
    for one, other in (
        ("ConsumedQuantity", "ConsumedUnit"),
        ("PricingQuantity", "PricingUnit"),
        ("ResourceId", "ResourceType"),
        ("RegionId", "RegionName"),
        ("SubAccountId", "SubAccountType"),
    ):
        assert (row[one] is None) == (row[other] is None)
    assert row["ResourceId"] is not None or row["ResourceName"] is None
    assert row["BillingCurrency"] == "USD"
    assert row["ChargeClass"] is None
    for column in ("ConsumedQuantity", "PricingQuantity", "PricingCategory"):
        assert row[column] is not None  # of usage


def test_a_charge():
    names, (row,) = dataset([{}, {"bytes": GIB // 2, "to_rack": "/eu/c"}])
    check_focus(names, [row])
    assert row["BilledCost"] == "0.030000000"
    assert row["BilledCost"] == row["EffectiveCost"] == row["ListCost"] == row["ContractedCost"]
    assert (row["ConsumedQuantity"], row["ConsumedUnit"]) == (str(3 * GIB // 2), "B")
    assert (row["PricingQuantity"], row["PricingUnit"]) == ("1.5", "GiB")
    assert (row["BillingPeriodStart"], row["BillingPeriodEnd"]) == (
        "2026-12-01T00:00:00Z",
        "2027-01-01T00:00:00Z",
    )
    assert (row["ChargePeriodStart"], row["ChargePeriodEnd"]) == (
        "2026-12-31T00:00:00Z",
        "2027-01-01T00:00:00Z",
    )
    assert (row["SubAccountId"], row["ResourceId"], row["RegionId"]) == ("prod", "orders", "eu")
    assert json.JSONDecoder().decode(row["Tags"]) == {"group": "billing", "owner": "shop"}
    assert (row["ProviderName"], row["x_TrafficKind"]) == ("aws", "fetch")


def test_what_is_not_known_is_null_and_never_zero():
    unknown = {"topic": "(unknown)", "client_group": "(unknown)", "owner": "(unowned)"}
    names, (row,) = dataset([unknown], levels=("area", "zone"))
    check_focus(names, [row])
    for column in ("ResourceId", "ResourceName", "ResourceType", "RegionId", "RegionName"):
        assert row[column] is None
    assert json.JSONDecoder().decode(row["Tags"]) == {"group": None, "owner": None}


def test_a_charge_of_a_billion_dollars_is_one_line():
    """One row of it costs less; the charge is that of two racks."""
    rows = gold([{"from_rack": "/eu/a"}, {"from_rack": "/eu/c"}])
    place = rows.column_names.index("usd")
    usd = pa.array([Decimal(600_000_000)] * 2, rows.schema.field("usd").type)
    with pytest.raises(InvalidPrices, match="less than 1000000000 dollars for a sum of rows"):
        charges(rows.set_column(place, "usd", usd), LEVELS)


def test_bytes_without_a_cost_are_no_charge():
    rows = [{"level": 0}, {"level": -1, "to_rack": "(unknown)"}, {"is_priced": False}, {"bytes": 0}]
    assert dataset(rows)[1] == []


@pytest.mark.parametrize(
    ("rack", "levels", "region"),
    [
        ("/eu/a", ("region", "zone"), "eu"),
        ("/earth/eu/a", ("planet", "region", "zone"), "eu"),
        ("/mars", ("planet", "region"), None),
        ("use1-az1", ("region",), "use1-az1"),
        ("use1-az1", ("zone",), None),
    ],
)
def test_the_region_is_the_senders(rack, levels, region):
    _, (row,) = dataset([{"from_rack": rack}], levels=levels)
    assert row["RegionId"] == region


def test_bytes_that_are_left_out_are_counted():
    one = Standing(
        cluster="prod",
        day=DAY,
        kind="fetch",
        quality="measured",
        level=1,
        price_row=None,
        bytes=7,
        usd=None,
        usd_high=None,
        is_topic_known=True,
        is_group_known=True,
    )
    others = [replace(one, level=0, usd=Decimal(0)), replace(one, usd=Decimal(1))]
    assert left_out([one, replace(one, level=-1, bytes=5), *others]) == 12
    assert left_out(others) == 0


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "day": st.dates(date(2025, 12, 30), date(2026, 3, 2)),
            "cluster": st.sampled_from(["prod", "test"]),
            "kind": st.sampled_from(["produce", "fetch", "replicate", "other"]),
            "topic": st.sampled_from(["orders", "a,b", 'q"q', "=1+1", "(unknown)"]),
            "client_group": st.sampled_from(["billing", "é\u2028", "(unknown)"]),
            "owner": st.sampled_from(["shop", "(unowned)"]),
            "level": st.integers(-1, 2),
            "bytes": st.integers(0, 10**15),
            "is_priced": st.booleans(),
        }
    ),
    max_size=20,
)


@settings(max_examples=60)
@given(ROWS)
def test_costs_and_bytes_are_those_of_the_bill(rows):
    names, found = dataset(rows)
    check_focus(names, found)
    wanted, bytes_ = Counter(), Counter()
    for row in gold(rows).to_pylist():
        if row["level"] > 0 and row["usd"] is not None:
            wanted[row["day"]] += row["usd"]
            bytes_[row["day"]] += row["bytes"]
    costs, quantities = Counter(), Counter()
    for row in found:
        start = datetime.fromisoformat(row["ChargePeriodStart"]).astimezone(UTC)
        assert datetime.fromisoformat(row["ChargePeriodEnd"]) - start == timedelta(days=1)
        costs[start.date()] += Decimal(row["BilledCost"])
        quantities[start.date()] += int(row["ConsumedQuantity"])
    assert +costs == +wanted
    assert +quantities == +bytes_
