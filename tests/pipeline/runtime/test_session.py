"""Sessions: no output, UTC, ANSI mode; an active session is used unchanged or rejected."""

import os
import subprocess
import sys

import pyarrow as pa
import pytest

from rackwise.core.errors import SessionConflict, SparkMissing
from rackwise.pipeline.runtime.session import check_version, large_batches, session, settings


def test_the_tiny_profile_is_the_small_one_without_generated_code():
    small, tiny = (settings("local[2]", name, {}) for name in ("small", "tiny"))
    added = {key: value for key, value in tiny.items() if small.get(key) != value}
    assert added == {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    assert small.keys() <= tiny.keys()


def test_the_conf_of_the_small_profile():
    small = settings("local[2]", "small", {})
    assert small["spark.sql.shuffle.partitions"] == "2"
    assert "-XX:+UseSerialGC" in small["spark.driver.extraJavaOptions"]
    assert "-XX:ReservedCodeCacheSize=240m" in small["spark.driver.extraJavaOptions"]
    assert "spark.sql.shuffle.partitions" not in settings("spark://host:7077", "batch", {})


@pytest.mark.parametrize("profile", ["tiny", "small", "batch"])
def test_no_profile_searches_the_plan_for_partitions_of_a_join(profile):
    """No join has one, and for the joins of a request log the search takes seconds."""
    key = "spark.sql.optimizer.dynamicPartitionPruning.enabled"
    assert settings("local[2]", profile, {})[key] == "false"


@pytest.mark.parametrize(
    ("master", "partitions"),
    [("local", 2), ("local[3]", 6), ("local[4,2]", 8), ("local[*]", 2 * (os.cpu_count() or 1))],
)
def test_a_local_master_has_two_partitions_of_a_shuffle_for_each_core(master, partitions):
    assert settings(master, "batch", {})["spark.sql.shuffle.partitions"] == str(partitions)


@pytest.mark.parametrize("profile", ["small", "batch"])
def test_a_local_master_lists_files_in_few_tasks(profile):
    """Spark's own number is a task for each of up to 10,000 files."""
    key = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
    assert settings("local[3]", profile, {})[key] == "6"
    assert key not in settings("spark://host:7077", profile, {})


@pytest.mark.parametrize("profile", ["tiny", "small"])
def test_executors_of_a_small_job_compile_with_one_tier(profile):
    key = "spark.executor.defaultJavaOptions"
    options = settings("spark://host:7077", profile, {})[key]
    assert "-XX:TieredStopAtLevel=1" in options
    assert "GC" not in options, "a second collector in the options of the user would be an error"
    assert key not in settings("spark://host:7077", "batch", {})
    assert key not in settings("local[2]", profile, {})


def test_the_conf_of_the_caller_wins():
    assert settings("local", "small", {"spark.driver.memory": "3g"})["spark.driver.memory"] == "3g"


@pytest.mark.parametrize(
    ("master", "expected"), [("local", True), ("local[2]", True), ("spark://h:7077", False)]
)
def test_only_local_masters_are_bound_to_loopback(master, expected):
    assert ("spark.driver.host" in settings(master, "batch", {})) is expected


@pytest.mark.spark
@pytest.mark.connect
def test_rows_travel_to_python_through_a_unix_socket(spark):
    def ways(batches):
        for _ in batches:
            yield pa.RecordBatch.from_pylist([{"way": os.environ["PYTHON_UNIX_DOMAIN_ENABLED"]}])

    made = spark.range(1).mapInArrow(ways, "way string").collect()
    assert [row["way"] for row in made] == ["True"]


def test_without_pyspark_the_hint_has_the_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(SparkMissing, match="PySpark is not installed") as missing, session():
        pass
    assert missing.value.hint == 'pip install "rackwise[spark]"'


def test_a_master_with_a_remote_is_rejected():
    asked = {"master": "local[2]", "remote": "sc://there/;token=t0k3n"}
    with pytest.raises(SessionConflict, match="got both") as refused, session(**asked):
        pass
    assert "t0k3n" not in str(refused.value.as_dict())


@pytest.mark.parametrize(
    ("version", "is_fit"), [("3.5.4", False), ("4.0.0", True), ("4.2.1", True), ("5.0.0", True)]
)
def test_an_older_spark_is_rejected(version, is_fit):
    if is_fit:
        check_version(version)
        return
    with pytest.raises(SessionConflict, match=f"for a session, got Spark {version}") as refused:
        check_version(version)
    assert refused.value.hint.startswith("start Spark 4.0 or later")


@pytest.mark.spark
@pytest.mark.connect
def test_an_active_session_is_used_and_not_stopped(spark):
    with session() as same:
        assert same is spark
    assert spark.range(3).count() == 3


@pytest.mark.spark
@pytest.mark.connect
def test_large_batches_restore_the_conf(spark):
    key = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(key)
    with large_batches(spark):
        assert spark.conf.get(key) == "32768" != before
    assert spark.conf.get(key) == before
    with pytest.raises(ZeroDivisionError), large_batches(spark):
        1 / 0  # noqa: B018 (an action that fails)
    assert spark.conf.get(key) == before


@pytest.mark.spark
@pytest.mark.connect
def test_blocks_of_large_batches_that_overlap_restore_the_conf(spark):
    key = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(key)
    first, second = large_batches(spark), large_batches(spark)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert spark.conf.get(key) == "32768"
    second.__exit__(None, None, None)
    assert spark.conf.get(key) == before


@pytest.mark.spark
@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ({"master": "spark://elsewhere:7077"}, "spark.master"),
        ({"remote": "sc://elsewhere/;token=t0k3n"}, "spark.remote"),
        ({"conf": {"spark.sql.session.timeZone": "CET"}}, "spark.sql.session.timeZone"),
    ],
)
def test_an_active_session_with_another_conf_is_rejected(spark, asked, key):
    with (
        pytest.raises(SessionConflict, match="got the active one with") as refused,
        session(**asked),
    ):
        pass
    assert refused.value.where == key
    assert "stop the active session" in refused.value.hint
    assert "t0k3n" not in str(refused.value.as_dict())
    assert spark.range(1).count() == 1


@pytest.mark.spark
@pytest.mark.classic
def test_a_new_session_is_in_utc_and_prints_nothing():
    script = (
        "from rackwise.pipeline.runtime.session import session\n"
        "with session(master='local[1]', profile='small') as spark:\n"
        "    print(spark.conf.get('spark.sql.session.timeZone'), spark.range(5).count())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "UTC 5\n"
    assert "WARN " not in done.stderr
    assert "INFO" not in done.stderr
