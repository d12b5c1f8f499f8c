"""A fleet analyzed without any rates: what is not known is null and has a reason, never 0."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from rackwise.core.fleet import FleetOptions, Shape
from rackwise.core.savings.potential import RACK, TOPIC
from rackwise.pipeline.summary.bill_sums import LOST
from rackwise.report import html, terminal
from rackwise.report.metrics.run import run_metrics
from truths import write_fleet

pytestmark = pytest.mark.spark

FLEET = FleetOptions(
    seed=301, clusters=2, brokers=6, topics=12, flows=6_000, shape=Shape.MESSY, bad_rows=0.001
)
ENDS = (("bytes_low", "bytes_high"), ("usd_low", "usd_high"), ("usd_low_30d", "usd_high_30d"))


@pytest.fixture(scope="module")
def summary(spark, tmp_path_factory):
    from rackwise.pipeline.job import analyze

    _, request = write_fleet(FLEET, tmp_path_factory.mktemp("fleet"))
    assert not request.rates
    return analyze(spark, request).summary


def is_zero(value):
    return value is not None and not Decimal(value)


def check_saving(row):
    """Law: a value is exact or the row has reasons with cures; 0 is exact."""
    for low, high in ENDS:
        assert row[low] == row[high] or row["reason"]
        assert not is_zero(row[low]) or is_zero(row[high]), f"law broken: {low} is 0"
        assert row[high] is not None
    for reason in (row["reason"] or "").split("; "):
        assert ": " in reason or not reason


def test_no_saving_and_no_total_is_0_where_bytes_are_not_known(summary):
    part = summary["savings"]
    for row in (part["total"], *part["steps"], *part["rows"]):
        check_saving(row)
    steps = {(step["view"], step["saving"], step["eps"]): step for step in part["steps"]}
    for key in (("alone", "follower-fetch", None), ("alone", "producing", "0.1")):
        assert TOPIC in steps[key]["reason"]
        assert not is_zero(steps[key]["usd_low"])
        assert Decimal(steps[key]["usd_high"]) > 0
    assert TOPIC in part["total"]["reason"]
    assert part["total"]["usd_saved"] is None


def test_the_most_that_can_be_saved_is_not_above_the_cost(summary):
    verdict, total = summary["verdict"], summary["savings"]["total"]
    most = sum(Decimal(row["usd_high"]) for row in summary["clusters"])
    assert Decimal(total["usd_high"]) <= most
    assert total["bytes_high"] <= verdict["bytes_cross"] + verdict["bytes_unknown"]
    assert Decimal(verdict["usd"]) < most
    assert (verdict["usd_high"], verdict["reason"]) == (None, f"{RACK}; {LOST}")


def test_no_row_of_a_roll_up_costs_0_if_its_bytes_may_cost_more(summary):
    names = [name for name in summary if name.startswith("by_")]
    assert names
    for name in names:
        for row in summary[name]:
            may_cost = row["bytes_cross"] or row["bytes_unknown"]
            assert not (is_zero(row["usd"]) and may_cost), name
            assert not (row["share"] == 0 and may_cost), name
            assert row["usd"] is not None or Decimal(row["usd_high"]) > 0


def test_unattributed_dollars_have_their_cause(summary):
    part = summary["unattributed"]
    assert {one["reason"] for one in part["causes"]} >= {TOPIC}
    for name in ("bytes", "bytes_cross"):
        assert part[name] == sum(one[name] for one in part["causes"]) > 0
    for name in ("usd", "usd_high"):
        assert Decimal(part[name]) == sum(Decimal(one[name]) for one in part["causes"]) > 0
    kinds = {row["topic"] for row in summary["by_topic"]}
    assert "(unknown)" in kinds


def test_no_metric_is_0_where_bytes_are_not_known(summary):
    steps = {
        step["saving"]: step for step in summary["savings"]["steps"] if step["view"] == "waterfall"
    }
    text = run_metrics(summary, now="2026-11-24T00:00:00Z")
    found = re.findall(
        r'^rackwise_savable_usd_30d(?:_at_most)?\{saving="(.+)"\} (\S+)$', text, re.MULTILINE
    )
    assert {saving for saving, _ in found} == set(steps)
    for saving, value in found:
        assert Decimal(value) or steps[saving]["reason"] is None
    dollars = re.findall(r"^rackwise_cross_rack_usd\S* (\S+)$", text, re.MULTILINE)
    assert dollars
    assert all(map(Decimal, dollars))


def test_the_report_says_so(summary):
    shown = " ".join(terminal.render(summary, width=100, color=False).split())
    assert "of it is not attributed (the topic is not known" in shown
    assert "(unknown)" not in shown
    page = html.render(summary)
    assert "take snapshots with --measure" in page
    largest = page[page.index('id="table-savings"') : page.index('<section id="findings"')]
    assert "$0.00<" not in largest
