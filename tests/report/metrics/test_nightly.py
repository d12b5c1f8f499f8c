"""Metrics of a night: what never was has no sample, a cluster that did not fail has a 0."""

import pytest

from rackwise.report.metrics.nightly import nightly_metrics
from report.metrics.exposition_text import of, read

AT = {"began": "2026-11-26T02:00:00Z", "ended": "2026-11-26T02:05:00Z"}
FIGURES = {
    **AT,
    "last_success": None,
    "seconds": 300.25,
    "exit": 3,
    "fleet_failed": 0,
    "unsent": 2,
    "clusters": [
        {"name": 'pr"od', "failed": 0, "last_success": AT["ended"], "moves": 4},
        {"name": "gone", "failed": 1, "last_success": None, "moves": None},
    ],
}


def test_the_figures_of_a_night_are_its_samples():
    found = read(nightly_metrics(FIGURES))
    assert of(found, "rackwise_nightly_last_start_timestamp_seconds") == {(): "1795658400"}
    assert of(found, "rackwise_nightly_last_end_timestamp_seconds") == {(): "1795658700"}
    assert of(found, "rackwise_nightly_duration_seconds") == {(): "300.25"}
    assert of(found, "rackwise_nightly_exit_code") == {(): "3"}
    assert of(found, "rackwise_nightly_fleet_steps_failed") == {(): "0"}
    assert of(found, "rackwise_nightly_notices_unsent") == {(): "2"}
    failed = of(found, "rackwise_nightly_steps_failed")
    assert set(failed.values()) == {"0", "1"}
    assert failed["gone",] == "1"


def test_what_never_was_has_no_sample():
    found = read(nightly_metrics(FIGURES))
    assert of(found, "rackwise_nightly_last_success_timestamp_seconds") == {}
    assert ("gone",) not in of(found, "rackwise_nightly_cluster_last_success_timestamp_seconds")
    assert ("gone",) not in of(found, "rackwise_nightly_plan_moves")
    text = nightly_metrics({**FIGURES, "last_success": AT["ended"]})
    assert of(read(text), "rackwise_nightly_last_success_timestamp_seconds") == {(): "1795658700"}


@pytest.mark.prometheus
def test_promtool_finds_no_fault():
    from report.metrics.test_node_exporter import checked

    assert checked(nightly_metrics({**FIGURES, "last_success": AT["ended"]})) == ("", 0)
