"""Tables of a run in Delta Lake and Apache Iceberg: the rows of the Parquet files, or one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pyarrow.parquet
import pyspark
import pytest

from maven_repositories import repository
from rackwise.core.errors import ConnectorMissing
from rackwise.core.fleet import FleetOptions
from rackwise.pipeline.stream.table_formats import lake_conf
from truths import write_fleet

LINE = ".".join(pyspark.__version__.split(".")[:2])
SCALA = "2.13"
FITTING = {"4.0": ("delta", "iceberg"), "4.1": ("delta", "iceberg"), "4.2": ("delta",)}
"""Line of Spark -> the formats that have a library for it."""
READ = """
import json, sys
from rackwise.pipeline.stream.table_formats import lake_conf
from rackwise.pipeline.runtime.session import session
table_format, folder, *names = sys.argv[1:]
conf = lake_conf(table_format, {})
def read(spark, name):
    if table_format != "iceberg":
        return spark.read.format(table_format).load(f"{folder}/{name}")
    spark.conf.set("spark.sql.catalog.run", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.run.type", "hadoop")
    spark.conf.set("spark.sql.catalog.run.warehouse", f"{folder}/iceberg")
    return spark.table("run." + name.replace("/", "."))
with session(master="local[1]", profile="tiny", conf=conf) as spark:
    frames = {name: read(spark, name) for name in names}
    rows = {name: frame.collect() for name, frame in frames.items()}
    found = {name: sorted([*map(str, row)] for row in each) for name, each in rows.items()}
    found["columns"] = {name: frame.columns for name, frame in frames.items()}
    print(json.dumps(found))
"""


def rows_of(folder, name, columns):
    rows = pyarrow.parquet.read_table(f"{folder}/{name}").to_pylist()
    return sorted([str(row[column]) for column in columns] for row in rows)


def ran(*words):
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def has_log(folder):
    """Whether a table has a log; folders come and go meanwhile, which `os.walk` ignores."""
    logs = {"_delta_log", "metadata"}
    return any(logs & set(path.split("/")) and files for path, _, files in os.walk(folder))


def killed_in_its_tables(command, out):
    """Kill a run, and its Java with it, as soon as it has the log of a table."""
    words = [sys.executable, *map(str, command)]
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while not has_log(out):
            assert process.poll() is None
            time.sleep(0.1)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.spark
@pytest.mark.classic
@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("table_format", FITTING.get(LINE, ()))
def test_the_tables_have_the_rows_of_the_parquet_files(tmp_path, table_format):
    """A killed run leaves no result; one that continues the result reads the tables, too."""
    write_fleet(FleetOptions(brokers=6, topics=10, flows=2_000), tmp_path)
    out = tmp_path / "out"
    command = (
        *("-m", "rackwise.cli", "--json", "analyze", tmp_path / "cluster-0-0.json.gz"),
        *("--flows", tmp_path / "flows", "--subnets", tmp_path / "subnets.csv"),
        *("--levels", "region,zone", "--max-quarantine", "0.5", "--no-plans"),
        *("--master", "local[2]", "--table-format", table_format, "--out", out),
    )
    killed_in_its_tables(command, out)
    assert not (out / "manifest.json").exists()
    summary = json.JSONDecoder().decode(ran(*command))
    assert summary["method"]["options"]["table_format"] == table_format
    manifest = json.JSONDecoder().decode((out / "manifest.json").read_text())
    assert manifest["table_format"] == table_format
    folder = out / manifest["tables"]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    parts = sorted({path.parent for path in folder.glob("*/*/**/*.parquet")})
    kept = [path for path in parts if not {"_delta_log", "iceberg"} & set(path.parts)]
    names = sorted({"/".join(path.relative_to(folder).parts[:2]) for path in kept})
    assert {"gold/cross_rack", "gold/by_topic", "silver/broker", "silver/flow_sum"} <= set(names)
    found = json.JSONDecoder().decode(ran("-c", READ, table_format, folder, *names))
    for name in names:
        wanted = rows_of(folder, name, found["columns"][name])
        assert len(found[name]) == len(wanted), name
        # Rows of silver tables have lists of rows.
        assert name.startswith("silver/") or found[name] == wanted, name
    assert len(found["gold/cross_rack"]) > 10
    again = json.JSONDecoder().decode(ran(*command, "--from", "2026-11-22"))
    assert again["verdict"]["bytes_cross"] == summary["verdict"]["bytes_cross"] > 0


@pytest.mark.java
@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize(
    ("table_format", "coordinate"),
    [
        ("delta", f"io.delta:delta-spark_{LINE}_{SCALA}"),
        ("iceberg", f"org.apache.iceberg:iceberg-spark-runtime-{LINE}_{SCALA}"),
    ],
)
def test_a_spark_without_a_library_is_one_line(tmp_path, monkeypatch, table_format, coordinate):
    """Before Spark starts: each library has a module for each line of Spark, and some have none."""
    with repository({}) as (address, asked):
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", address)
        with pytest.raises(ConnectorMissing) as missing:
            lake_conf(table_format, {"spark.jars.ivy": str(tmp_path / "ivy")})
    assert f" {coordinate} from {address}, got none: " in missing.value.message
    assert f" has no {coordinate.partition(':')[2]}" in missing.value.message
    assert "\n" not in missing.value.message
    assert missing.value.hint.endswith("or use --table-format parquet")
    assert any(path.endswith("maven-metadata.xml") for path in asked)


@pytest.mark.usefixtures("no_session")
def test_parquet_needs_no_library():
    conf = {"a": "b"}
    assert lake_conf("parquet", conf) == conf
    assert lake_conf("delta", conf, remote="sc://there") == conf


@pytest.mark.usefixtures("no_session")
def test_a_server_that_the_environment_names_keeps_its_conf(monkeypatch):
    monkeypatch.setenv("SPARK_REMOTE", "sc://there")
    given = {"spark.jars": "x.jar"}
    assert lake_conf("delta", given) == given
    assert "spark.sql.extensions" in lake_conf("delta", given, master="local[1]")


@pytest.mark.usefixtures("no_session")
def test_jars_that_are_given_are_used_with_the_extension_of_the_format():
    given = {"spark.jars": "x.jar", "spark.sql.extensions": "org.example.Own"}
    assert lake_conf("delta", given) == {
        "spark.jars": "x.jar",
        "spark.sql.extensions": "org.example.Own,io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    assert os.environ.get("PYSPARK_GATEWAY_PORT") is None


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_session_that_runs_keeps_its_conf():
    given = {"spark.jars": "x.jar"}
    assert lake_conf("delta", given) == given


@pytest.mark.spark
def test_a_session_without_the_extension_is_one_line(spark, monkeypatch):
    from rackwise.pipeline.stream.table_formats import check_lake

    check_lake(spark, "parquet")
    with repository({}) as (address, _):
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", address)
        with pytest.raises(ConnectorMissing, match=r"expected a Spark session with") as missing:
            check_lake(spark, "delta")
    assert f"--packages io.delta:delta-spark_{LINE}_{SCALA}" in missing.value.hint


@pytest.mark.spark
@pytest.mark.classic
def test_an_extension_whose_class_spark_does_not_find_is_one_line(spark, monkeypatch):
    """The conf has its name even so."""
    from rackwise.pipeline.stream.table_formats import EXTENSIONS, FORMATS, check_lake

    conf = spark._jsparkSession.sessionState().conf()
    conf.setConfString(EXTENSIONS, FORMATS["delta"].extension)
    try:
        with repository({}) as (address, _):
            monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", address)
            with pytest.raises(ConnectorMissing, match=r"got .* without its library$"):
                check_lake(spark, "delta")
        own = "org.apache.spark.sql.SparkSessionExtensions"
        monkeypatch.setitem(FORMATS, "delta", replace(FORMATS["delta"], extension=own))
        conf.setConfString(EXTENSIONS, own)
        check_lake(spark, "delta")
    finally:
        conf.unsetConf(EXTENSIONS)
