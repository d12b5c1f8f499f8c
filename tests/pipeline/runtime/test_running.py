"""How far running Spark jobs are, asked from another thread, and where Spark shows them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import pytest
from pyspark.sql import is_remote

from rackwise.pipeline.runtime.running import (
    Reading,
    core_count,
    java_version,
    ui_place,
    watched,
)

pytestmark = pytest.mark.spark

TASKS = 6
ROWS = 60
SLOW_S = 0.5


def slow_job(spark, count_rows=None):
    """The rows that a job with `TASKS` tasks passes on; a task takes `SLOW_S`."""

    def passed_on(batches):
        sleep(SLOW_S)
        for batch in batches:
            if count_rows is not None:
                count_rows(batch.num_rows)
            yield batch

    return spark.range(0, ROWS, 1, TASKS).mapInArrow(passed_on, "id long").collect()


def readings(work, look):
    """What `look` says every 50 ms while `work` runs in another thread."""
    found = []
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        until = monotonic() + 60
        while not running.done() and monotonic() < until:
            found.append(look())
            sleep(0.05)
        running.result()
    return found


@pytest.mark.connect
def test_tasks_are_told_while_the_job_runs(spark):
    with watched(spark) as jobs:
        # Connect sends a message every two seconds, so the job takes longer than that there.
        told = readings(lambda: [slow_job(spark) for _ in range(3)], jobs.look)
    seen = {(each.done, each.tasks) for each in told if each.tasks}
    assert {tasks for _, tasks in seen} == {TASKS}
    assert any(0 < done < TASKS for done, _ in seen)
    assert all(each.rows is None for each in told)


def test_rows_are_those_of_finished_tasks_and_then_exact(spark):
    with watched(spark) as jobs:
        told = readings(lambda: slow_job(spark, jobs.count_rows()), jobs.look)
        rows = [each.rows for each in told if each.rows is not None]
        if is_remote():
            assert rows == []
        else:
            assert rows == sorted(rows)
            assert any(0 < count < ROWS for count in rows)
            assert 0 not in rows  # not known is never zero
            assert jobs.look().rows == ROWS
        jobs.end_rows(61)
        assert jobs.look().rows == 61
        jobs.begin_step()
        assert jobs.look().rows is None


@pytest.mark.connect
def test_nothing_is_asked_after_the_run(spark):
    with watched(spark) as jobs:
        pass
    told = readings(lambda: slow_job(spark), jobs.look)
    assert {*told} == {Reading()}


@pytest.mark.connect
def test_the_place_of_the_ui(spark):
    if is_remote():
        assert ui_place(spark) == f"Spark Connect session {spark.session_id} on 127.0.0.1"
    else:
        assert ui_place(spark) is None


@pytest.mark.connect
def test_cores_and_java_are_told_where_the_driver_is_in_this_process(spark):
    told = (core_count(spark), java_version(spark))
    if is_remote():
        assert told == (None, None)
        return
    assert told[0] == spark.range(100).rdd.getNumPartitions()
    assert told[1] == spark.sparkContext._jvm.System.getProperty("java.version")
