"""Rows go to the Spark partition of their task, in every Spark."""

import pytest

from rackwise.pipeline.fleet.tasks import distribute, in_own_partitions, partition_keys, task_keys


@pytest.mark.spark
@pytest.mark.connect
@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_each_key_has_a_partition_of_its_own(spark, count):
    from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

    rows = [(key, number) for number, key in enumerate(partition_keys(count))]
    frame = in_own_partitions(spark.createDataFrame(rows, "task int, number int"), count)
    found = frame.select("number", F.spark_partition_id().alias("partition")).collect()
    assert sorted((row.number, row.partition) for row in found) == [(n, n) for n in range(count)]


@pytest.mark.parametrize("count", [1, 3, 100, 5000])
def test_keys_differ_and_the_first_integer_is_one_of_them(count):
    keys = partition_keys(count)
    assert len({*keys}) == count
    assert 0 in keys


def test_tasks_have_similar_loads():
    sizes = [9, 3, 2, 2, 1]
    assert distribute(sizes, 3) == [0, 1, 2, 2, 1]
    keys = partition_keys(3)
    assert task_keys(sizes, 3) == [keys[0], keys[1], keys[2], keys[2], keys[1]]
