"""The rows of earlier runs of which the day still stands."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa

from growth import check_not_quadratic
from rackwise.pipeline.bill.standing import StandingRows
from rackwise.pipeline.schemas import CROSS_RACK, arrow_schema

EPOCH = date(1970, 1, 1).toordinal()
DAYS = 90


def standing(days, clusters=None, price_rows=None):
    """The work of a task; `days`: name in the tables -> days since 1970."""
    return StandingRows(
        clusters=clusters or {},
        days={name: np.array(own, dtype=np.int64) for name, own in days.items()},
        price_rows=price_rows or {},
    )


def batch(rows):
    """Rows of CROSS_RACK from (cluster, day since 1970); the other columns have some value."""
    schema = arrow_schema(CROSS_RACK)
    texts = {"cluster": [name for name, _ in rows], "price_row": ["row 1"] * len(rows)}
    columns = [
        pa.array([date.fromordinal(EPOCH + day) for _, day in rows], field.type)
        if field.name == "day"
        else pa.array(texts.get(field.name, [None] * len(rows)), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def kept(work, rows):
    return [
        (row["cluster"], row["day"].toordinal() - EPOCH)
        for each in work([batch(rows)])
        for row in each.to_pylist()
    ]


def test_only_the_days_that_stand_are_kept_each_with_its_own_cluster():
    work = standing({"prod": [1, 3], "test": [1, 2], "gone": []}, clusters={"test": "test-2"})
    rows = [(name, day) for day in (1, 2, 3, 4) for name in ("test", "prod", "gone", "other")]
    assert kept(work, rows) == [("test-2", 1), ("prod", 1), ("test-2", 2), ("prod", 3)]
    assert kept(standing({}), rows) == []
    assert kept(work, []) == []


def test_the_time_grows_with_the_clusters_and_not_with_their_square():
    def work_of(clusters):
        names = [f"c{number}" for number in range(clusters)]
        work = standing({name: range(20_000, 20_000 + DAYS) for name in names})
        rows = batch([(name, 20_001) for name in names])
        return lambda: list(work([rows]))

    check_not_quadratic(work_of, 100)
