"""A cluster whose racks nobody knows is called safe nowhere: verdict, page, history and metrics."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise.adapters.files import read_published, write_snapshot
from refusals import called
from small_clusters import small_cluster

WHY = "no broker has a rack"
SAFE = {"t-0": [1, 2], "t-1": [2, 1]}
RACKS = {1: "/a", 2: "/b"}
UNKNOWN = dict.fromkeys(RACKS)


@pytest.fixture
def analyze(tmp_path):
    """Analyze clusters into one folder, again at each call; give stdout and the result."""

    def analyzed(**clusters):
        places = []
        for name, value in clusters.items():
            places.append(tmp_path / f"{name}.json")
            write_snapshot(replace(value, name=name, cluster_id=name), places[-1])
        out = tmp_path / "result"
        more = ["--no-plans", "--engine", "local", "--out", out]
        code, text, err = called("--quiet", "analyze", *places, *more)
        assert code == 0, err
        return " ".join(text.split()), read_published(out)

    return analyzed


def metrics(folder, tmp_path):
    place = tmp_path / "rackwise.prom"
    assert called("report", folder, "--metrics", place)[0] == 0
    return place.read_text()


def test_a_cluster_without_racks_is_not_called_safe(analyze, tmp_path):
    text, found = analyze(prod=small_cluster(UNKNOWN, SAFE))
    said = f"Whether all 2 partitions are rack-safe is not known: {WHY}"
    assert text.startswith(said)
    assert found.summary["verdict"]["partitions_unsafe"] is None
    assert [row["partitions_unsafe"] for row in found.summary["clusters"]] == [None]
    assert [row["partitions_unsafe"] for row in found.summary["history"]["days"]] == [None]
    assert [(each.partitions, each.partitions_unsafe) for each in found.days] == [(2, None)]
    page = (tmp_path / "result" / "report.html").read_text()
    assert WHY in page
    assert "rack-safe is not known" in page
    assert "are rack-safe<" not in page
    assert "rackwise_partitions_unsafe{" not in metrics(tmp_path / "result", tmp_path)


def test_a_cluster_that_lost_its_racks_on_the_same_day_loses_its_zero(analyze):
    text, found = analyze(prod=small_cluster(RACKS, SAFE))
    assert text.startswith("All 2 partitions are rack-safe")
    assert [each.partitions_unsafe for each in found.days] == [0]
    text, found = analyze(prod=small_cluster(UNKNOWN, SAFE))
    assert text.startswith("Whether all 2 partitions")
    assert [each.partitions_unsafe for each in found.days] == [None]


def test_a_fleet_adds_up_what_is_known(analyze):
    broken = small_cluster({**RACKS, 3: "/a"}, {"t-0": [1, 3], "t-1": [1, 2]})
    text, found = analyze(blind=small_cluster(UNKNOWN, SAFE), prod=broken)
    assert text.startswith(
        "At least 1 of 4 partitions is not rack-safe; "
        f"whether all others are rack-safe is not known: {WHY} (blind)"
    )
    rows = {row["name"]: row["partitions_unsafe"] for row in found.summary["clusters"]}
    assert rows == {"blind": None, "prod": 1}
    assert [row["partitions_unsafe"] for row in found.summary["history"]["days"]] == [None]


def test_a_run_that_continues_an_unknown_cluster_keeps_it_unknown(analyze):
    analyze(blind=small_cluster(UNKNOWN, SAFE))
    text, found = analyze(prod=small_cluster(RACKS, SAFE))
    assert found.summary["verdict"]["partitions_unsafe"] is None
    assert text.startswith(f"Whether all 4 partitions are rack-safe is not known: {WHY} (blind)")
