"""AWS Cost and Usage Reports as files, in each form that AWS writes."""

from __future__ import annotations

import csv
import gzip
import io
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
from pyarrow import parquet

COLUMNS = {
    "identity/LineItemId": "identity_line_item_id",
    "bill/PayerAccountId": "bill_payer_account_id",
    "lineItem/UsageAccountId": "line_item_usage_account_id",
    "lineItem/LineItemType": "line_item_line_item_type",
    "lineItem/UsageStartDate": "line_item_usage_start_date",
    "lineItem/UsageEndDate": "line_item_usage_end_date",
    "lineItem/ProductCode": "line_item_product_code",
    "lineItem/UsageType": "line_item_usage_type",
    "lineItem/UsageAmount": "line_item_usage_amount",
    "lineItem/CurrencyCode": "line_item_currency_code",
    "lineItem/UnblendedCost": "line_item_unblended_cost",
    "lineItem/LineItemDescription": "line_item_line_item_description",
    "product/region": "product_region",
    "pricing/unit": "pricing_unit",
}
"""Column of a report -> its name in Parquet and in CUR 2.0."""
REGIONAL = "DataTransfer-Regional-Bytes"


def line(usage_type=f"USE1-{REGIONAL}", amount="1", cost="0.01", day="2026-11-01", **more):
    """A line of one day, by the columns of a report."""
    return {
        "identity/LineItemId": "x",
        "bill/PayerAccountId": "123456789012",
        "lineItem/UsageAccountId": "123456789012",
        "lineItem/LineItemType": "Usage",
        "lineItem/UsageStartDate": f"{day}T00:00:00Z",
        "lineItem/UsageEndDate": f"{day}T01:00:00Z",
        "lineItem/ProductCode": "AmazonEC2",
        "lineItem/UsageType": usage_type,
        "lineItem/UsageAmount": amount,
        "lineItem/CurrencyCode": "USD",
        "lineItem/UnblendedCost": cost,
        "lineItem/LineItemDescription": '$0.010 per GB - "regional", in/out/between EC2 AZs',
        "product/region": "",
        "pricing/unit": "GB",
    } | more


def csv_report(lines, columns=tuple(COLUMNS), names=None):
    """A report as CSV; `names`: other names of the columns."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([(names or {}).get(column, column) for column in columns])
    writer.writerows([one[column] for column in columns] for one in lines)
    return text.getvalue().encode()


def parquet_report(path, lines, number=None):
    """A report as Athena reads it: Parquet, numbers as doubles, times as timestamps."""
    columns = {}
    number = number or pa.float64()
    for column, name in COLUMNS.items():
        values = [one[column] for one in lines]
        if column.endswith("Date"):
            times = [datetime.fromisoformat(value) for value in values]
            columns[name] = pa.array(times, pa.timestamp("ms", tz="UTC"))
        elif column.endswith(("Amount", "Cost")):
            made = [Decimal(value) if pa.types.is_decimal(number) else float(value)
                    for value in values]  # fmt: skip
            columns[name] = pa.array(made, number)
        else:
            columns[name] = pa.array(values, pa.string())
    parquet.write_table(pa.table(columns), path, compression="snappy")
    return path


def written(path, lines, form):
    """A report at `path` without a suffix, in one of `FORMS`; the path that was written."""
    if form == "parquet":
        return parquet_report(path.with_suffix(".snappy.parquet"), lines)
    if form == "decimal parquet":
        return parquet_report(path.with_suffix(".parquet"), lines, pa.decimal128(28, 10))
    data = csv_report(lines, names=COLUMNS if form == "cur2" else None)
    path = path.with_suffix(".csv.gz" if form == "csv.gz" else ".csv")
    path.write_bytes(gzip.compress(data) if form == "csv.gz" else data)
    return path


FORMS = ("csv", "csv.gz", "cur2", "parquet", "decimal parquet")
