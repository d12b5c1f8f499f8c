"""Cost and Usage Reports in all forms; a damaged or foreign file is an error, never fewer bytes."""

from __future__ import annotations

import gzip
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cost_reports import FORMS, REGIONAL, csv_report, line, parquet_report, written
from rackwise.core.errors import InvalidBilled

pytestmark = pytest.mark.spark

DAY = date(2026, 11, 1)
LINES = [
    line(amount="1.5000000001", cost="0.0150000000"),
    line(amount="0.25", cost="0.0025", **{"lineItem/UsageStartDate": "2026-11-01T23:00:00Z"}),
    line(f"EU-{REGIONAL}", "3", "0.03", day="2026-11-02"),
    line(REGIONAL, "7", "0.07"),
    line("USE1-BoxUsage:m5.large", "24", "2.304"),
    line("USE1-DataTransfer-Out-Bytes", "100", "9"),
    line("USE1-DataTransfer-Regional-Bytes-Other", "100", "9"),
    line(cost="-0.005", amount="0", **{"lineItem/LineItemType": "Credit"}),
    line("", "", "1.23", **{"lineItem/LineItemType": "Tax"}),
]


def read(spark, *paths):
    from rackwise.pipeline.bill.billed.cost_report import cost_report_files, read_cost_report

    files, _ = cost_report_files(spark, [str(path) for path in paths])
    return read_cost_report(spark, files)


def sums(report):
    found = {}
    for one in report.lines:
        key = (one.region, one.day, one.line_type)
        lines, gb, usd = found.get(key, (0, 0, 0))
        found[key] = (lines + one.lines, gb + one.gb, usd + one.usd)
    return found


WANTED = {
    ("us-east-1", DAY, "Usage"): (3, Decimal("8.7500000001"), Decimal("0.0875")),
    ("eu-west-1", date(2026, 11, 2), "Usage"): (1, Decimal(3), Decimal("0.03")),
    ("us-east-1", DAY, "Credit"): (1, Decimal(0), Decimal("-0.005")),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_lines(spark, tmp_path, form):
    lines = [one for one in LINES if one["lineItem/UsageAmount"]]
    assert sums(read(spark, written(tmp_path / "bill", lines, form))) == WANTED


def test_lines_without_a_usage_type_are_no_transfer(spark, tmp_path):
    assert sums(read(spark, written(tmp_path / "bill", LINES, "csv"))) == WANTED


def test_files_of_different_columns_are_one_bill(spark, tmp_path):
    first = written(tmp_path / "a", LINES[:2], "csv")
    second = tmp_path / "b.csv"
    order = [
        *("lineItem/UnblendedCost", "lineItem/UsageType", "lineItem/LineItemType"),
        *("lineItem/UsageStartDate", "lineItem/UsageAmount", "product/region"),
    ]
    second.write_bytes(csv_report(LINES[2:8], order))
    third = written(tmp_path / "c", [line(amount="2", cost="0.02", day="2026-12-01")], "parquet")
    found = sums(read(spark, first, second, third))
    assert found == WANTED | {
        ("us-east-1", date(2026, 12, 1), "Usage"): (1, Decimal(2), Decimal("0.02"))
    }
    assert sums(read(spark, tmp_path)) == found


def test_manifests_of_a_folder_are_not_read(spark, tmp_path):
    from rackwise.pipeline.bill.billed.cost_report import cost_report_files

    written(tmp_path / "bill", LINES, "csv")
    (tmp_path / "bill-Manifest.json").write_text("{}")
    files, ignored = cost_report_files(spark, [str(tmp_path)])
    assert [len(files), len(ignored)] == [1, 1]
    assert ignored[0].endswith("bill-Manifest.json")


def test_the_same_file_twice_counts_once(spark, tmp_path):
    path = written(tmp_path / "bill", LINES, "csv")
    assert sums(read(spark, path, tmp_path)) == WANTED


def test_cells_with_quotes_commas_and_line_breaks(spark, tmp_path):
    text = 'a "quoted", cell\nwith a second line'
    lines = [one | {"lineItem/LineItemDescription": text} for one in LINES]
    assert sums(read(spark, written(tmp_path / "bill", lines, "csv.gz"))) == WANTED


def test_a_line_of_a_month_has_its_last_day(spark, tmp_path):
    month = line(
        **{
            "lineItem/UsageStartDate": "2026-11-01T00:00:00Z",
            "lineItem/UsageEndDate": "2026-12-01T00:00:00Z",
        }
    )
    daily = line(**{"lineItem/UsageEndDate": "2026-11-02T00:00:00Z"})
    open_ = line(**{"lineItem/UsageEndDate": ""})
    (one,) = read(spark, written(tmp_path / "bill", [month], "csv")).lines
    assert (one.day, one.last_day) == (DAY, date(2026, 11, 30))
    (one,) = read(spark, written(tmp_path / "other", [daily, open_], "csv")).lines
    assert (one.day, one.last_day, one.lines) == (DAY, DAY, 2)


def test_a_bill_without_lines_is_empty(spark, tmp_path):
    assert read(spark, written(tmp_path / "bill", [], "csv")).lines == ()
    assert read(spark, written(tmp_path / "bill", LINES[4:6], "parquet")).lines == ()


def wrong(column, value):
    return csv_report([*LINES, line(**{column: value})])


CUT = csv_report(LINES)[:-200]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"a,b,c\n1,2,3\n", "expected a column lineItem/UsageType, got a, b, c"),
        ("a.csv", b"\x00\x01\x02", "expected a column lineItem/UsageType"),
        (
            "a.csv",
            wrong("lineItem/UsageAmount", "1,5"),
            'UsageAmount: expected a number, got "1,5"',
        ),
        (
            "a.csv",
            wrong("lineItem/UsageAmount", ""),
            "UsageAmount: expected a number, got an empty",
        ),
        (
            "a.csv",
            wrong("lineItem/UsageAmount", "NaN"),
            'UsageAmount: expected a number, got "NaN"',
        ),
        (
            "a.csv",
            wrong("lineItem/UnblendedCost", "$1"),
            r'UnblendedCost: expected a number, got "\$1"',
        ),
        ("a.csv", wrong("lineItem/UsageStartDate", "soon"), 'a time such as .*, got "soon"'),
        ("a.csv", wrong("lineItem/UsageEndDate", "soon"), 'a time such as .*, got "soon"'),
        ("a.csv", wrong("pricing/unit", "Bytes"), 'pricing/unit: expected GB, got "Bytes"'),
        ("a.csv", CUT, "expected as many cells as columns in each line, got a line that begins"),
        ("a.csv.gz", gzip.compress(csv_report(LINES))[:-30], "expected a readable CSV, gzip or"),
        ("a.csv.gz", b"no gzip", "expected"),
        ("a.parquet", b"PAR1 no parquet PAR1", "expected a readable CSV, gzip or Parquet file"),
        ("a.csv.zip", b"PK", "expected CSV, gzip or Parquet, got a ZIP file"),
        (
            "a.txt",
            csv_report(LINES),
            r"expected files \*.csv, \*.csv.gz or \*.parquet, got .*a.txt",
        ),
        ("a.csv", b"", r"expected files \*.csv, .* got no file with content"),
    ],
)
def test_a_wrong_file_is_an_error(spark, tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InvalidBilled, match=message) as caught:
        read(spark, path)
    assert caught.value.hint
    assert caught.value.exit_code == 1
    assert "\n" not in caught.value.message


def test_a_cut_parquet_file_is_an_error(spark, tmp_path):
    path = parquet_report(tmp_path / "a.parquet", LINES[:1])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InvalidBilled, match="expected a readable CSV, gzip or Parquet file"):
        read(spark, path)


def test_a_path_without_files_is_an_error(spark, tmp_path):
    with pytest.raises(InvalidBilled, match=r"invalid --billed: expected files at .*, got none"):
        read(spark, tmp_path / "none.csv")


def test_two_versions_of_a_month_are_an_error(spark, tmp_path):
    written(tmp_path / "a", LINES, "csv")
    written(tmp_path / "b", LINES[:8], "parquet")
    with pytest.raises(InvalidBilled, match="expected lines that no other file has"):
        read(spark, tmp_path)


AMOUNTS = st.decimals(0, 10**5, places=10)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(AMOUNTS, AMOUNTS, st.integers(1, 3), st.booleans()), max_size=20),
    st.sampled_from(["csv", "csv.gz", "cur2", "decimal parquet"]),
)
def test_sums_are_exact(spark, tmp_path, rows, form):
    """Law: the sums of a bill are the sums of its lines, to the last digit."""
    lines = [
        line(
            REGIONAL if is_regional else "BoxUsage", f"{gb:f}", f"{usd:f}", day=f"2026-11-{day:02}"
        )
        for gb, usd, day, is_regional in rows
    ]
    wanted = {}
    for gb, usd, day, is_regional in rows:
        if is_regional:
            key = ("us-east-1", date(2026, 11, day), "Usage")
            had = wanted.get(key, (0, 0, 0))
            wanted[key] = (had[0] + 1, had[1] + gb, had[2] + usd)
    assert sums(read(spark, written(tmp_path / "bill", lines, form))) == wanted
