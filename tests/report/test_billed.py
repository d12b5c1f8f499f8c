"""The provider's own bill in the report: the share, or why it is not known."""

from __future__ import annotations

from copy import deepcopy

import pytest

from rackwise.report import html
from rackwise.report.billed import days, left_out, sentence
from report.pages import Page
from report.summaries import summary

DOCUMENT = summary(has_bill=True)


def said(**values):
    document = deepcopy(DOCUMENT)
    document["billed"] |= values
    return sentence(document)


def test_without_a_bill_nothing_is_said():
    document = summary()
    assert (sentence(document), days(document), left_out(document)) == (None, None, None)
    assert "provider's own bill" not in html.render(document)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"share_high": 0.62, "reason": None},
            (
                "Kafka explains 62.0 % of the transfer between zones that AWS billed: $1.24 of "
                "$2.00 in 1 day"
            ),
        ),
        (
            {"reason": "a cause: a cure"},
            (
                "Kafka explains 62.0 % to 65.0 % of the transfer between zones that AWS billed: "
                "$1.24 of $2.00 in 1 day (a cause: a cure)"
            ),
        ),
        (
            {"share_high": 0.62, "reason": None, "billed_usd": None, "days": 3},
            (
                "Kafka explains 62.0 % of the transfer between zones that AWS billed: 124 GiB of "
                "200 GiB in 3 days"
            ),
        ),
        (
            {"share": 1.2, "share_high": 1.2, "reason": None, "finding": "more than the bill"},
            (
                "Kafka explains 120.0 % of the transfer between zones that AWS billed: $1.24 of "
                "$2.00 in 1 day; more than the bill"
            ),
        ),
        (
            {"share": None, "reason": "no cluster: add one"},
            (
                "How much Kafka explains of the transfer between zones that AWS billed is not "
                "known: no cluster: add one"
            ),
        ),
    ],
)
def test_the_sentence(values, text):
    assert said(**values) == text


def test_the_page_has_the_share_and_the_days():
    page = Page(html.render(DOCUMENT))
    text = page.by_id("billed").text
    assert sentence(DOCUMENT) in text
    table = days(DOCUMENT)
    assert table is not None
    cells = [[cell.text for cell in row] for row in table.rows]
    assert cells[0][:2] == ["2026-11-02", "eu-west-1"]
    assert cells[0][4:8] == ["not known"] * 4
    assert cells[1][2:8] == ["200 GiB", "$2.00", "124 GiB", "$1.24", "62.0 %", "65.0 %"]
    assert "Lines of the bill left out" in text


def test_the_table_names_the_file_with_all_rows():
    document = deepcopy(DOCUMENT)
    document["billed"]["count"] = 400
    document["csv"].append("csv/billed.csv")
    table = days(document)
    assert table is not None
    assert table.more == "398 more rows"
    assert table.file == "csv/billed.csv"
