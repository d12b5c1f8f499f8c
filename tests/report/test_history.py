"""The days of a result in the report, and what is said where nothing can be compared."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from rackwise.report import html
from rackwise.report.history import section, week
from report.pages import Page
from report.summaries import summary

WEEK = {
    "days": 7,
    "from": "2026-11-08",
    "to": "2026-11-14",
    "usd": "1234.560000000",
    "usd_before": "1000.000000000",
    "usd_change": 0.23456,
    "cross_share": 0.4,
    "cross_share_before": 0.5,
    "partitions_unsafe": 3,
    "partitions_unsafe_before": 1200,
    "reason": None,
}


def figures(page):
    return json.JSONDecoder().decode(page.by_id("figures").text)


@pytest.fixture(scope="module")
def document():
    return summary(days=9)


def test_lines_of_cost_share_and_safety(document):
    figure = figures(Page(html.render(document)))["chart-history"]
    rows = document["history"]["days"]
    cost, share, unsafe = figure["data"]
    assert cost["y"] == [float(row["usd"]) for row in rows]
    assert share["y"] == pytest.approx([row["cross_share"] * 100 for row in rows])
    assert unsafe["y"] == [None, *[153.0] * 8]
    assert unsafe["connectgaps"] is False
    titles = [figure["layout"][axis]["title"]["text"] for axis in ("yaxis", "yaxis2", "yaxis3")]
    assert titles == ["USD", "% that cross", "not rack-safe"]
    domains = [figure["layout"][axis]["domain"] for axis in ("yaxis3", "yaxis2", "yaxis")]
    assert all(low < high for low, high in domains)
    assert all(a[1] < b[0] for a, b in pairwise(domains))


def test_the_newest_day_is_first_and_what_is_unknown_is_not_zero(document):
    table = section(document).table
    days = [row[0].text for row in table.rows]
    assert days == [row["day"] for row in document["history"]["days"]][::-1]
    heads = [column.head for column in table.columns]
    at = heads.index("Not rack-safe")
    assert [row[at].text for row in table.rows] == [*["153"] * 8, "not known"]
    at = heads.index("In 7 days")
    assert [row[at].text for row in table.rows] == ["+25.0 %", "+25.0 %", *["not known"] * 7]
    total = sum(row["bytes_cross"] for row in document["history"]["days"])
    assert table.sums["bytes-cross"] == total


def test_one_day_has_no_history():
    document = summary(days=1)
    assert section(document) is None
    page = Page(html.render(document))
    assert page.by_id("week").text.startswith("Week over week is not known: ")
    assert "chart-history" not in figures(page)


def test_without_price_the_lines_are_bytes():
    poor = summary(days=3)
    poor["verdict"]["usd"] = poor["verdict"]["usd_30d"] = None
    for row in poor["history"]["days"]:
        row["usd"] = None
    figure = section(poor).figure
    assert figure.layout["yaxis"]["title"]["text"].startswith("crossing, ")
    assert "usd" not in {column.key for column in section(poor).table.columns}


def test_week_over_week():
    document = {"history": {"week": WEEK}}
    assert week(document) == (
        "Week over week, 2026-11-08 to 2026-11-14 (7 days are compared); $1,234.56 after "
        "$1,000.00 (+23.5 %); 40.0 % of the bytes cross racks after 50.0 %; 3 partitions not "
        "rack-safe after 1,200"
    )
    unknown = dict.fromkeys(("usd", "cross_share", "partitions_unsafe"))
    assert week({"history": {"week": WEEK | unknown | {"days": 1}}}) == (
        "Week over week, 2026-11-08 to 2026-11-14 (1 day is compared)"
    )


def test_nothing_to_compare_says_why(document):
    assert week(document) == ("Week over week is not known: no day of the last week has traffic")
