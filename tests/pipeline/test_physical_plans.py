"""Spark's plans: broadcast joins of integers, and no Python function that runs per row."""

import re

import pytest

from flow_rows import ROW, bronze, buckets_of, fleet_of

pytestmark = pytest.mark.spark

SLOW = ("NestedLoopJoin", "SortMergeJoin", "CartesianProduct", "EvalPython", "FlatMapGroups")


def explained(frame, capsys):
    frame.explain()
    plan = capsys.readouterr().out
    assert "Physical Plan" in plan
    return plan


def facts_of(spark, form, fleet):
    from rackwise.pipeline.ingest.formats import flow_facts
    from rackwise.pipeline.schemas import BRONZE_INPUT, BRONZE_REQUEST

    schema = BRONZE_INPUT if form == "canonical" else BRONZE_REQUEST
    values = {"emitter": "host/1", "revision": 1}  # else Spark sees that nothing replaces it
    row = tuple(values.get(name) for name in schema.names)
    rows = bronze(spark, [ROW]) if form == "vpc" else spark.createDataFrame([row], schema)
    once = lambda df, _: df  # noqa: E731 (the whole plan at once)
    return flow_facts(rows, fleet, buckets_of(fleet), format=form, persist=once)


@pytest.mark.parametrize("form", ["vpc", "canonical", "request-log"])
def test_the_plan_of_facts_and_of_their_sums(spark, capsys, form):
    from rackwise.pipeline.ingest.sums import summed_facts

    fleet = fleet_of()
    plan = explained(summed_facts(facts_of(spark, form, fleet), fleet), capsys)
    assert "BroadcastHashJoin" in plan
    assert [name for name in SLOW if name in plan] == []
    assert set(re.findall(r"BroadcastHashJoin.*?(LeftOuter|Inner|ExistenceJoin)", plan)) <= {
        "LeftOuter"
    }
