"""The connector in Python on real brokers: each message once, in batches of a given size."""

from __future__ import annotations

import re
from contextlib import closing
from functools import partial

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from kafka_traffic import create, delete
from rackwise.adapters.clients.kafka_python.records import Reach, ends, records, topic_id
from rackwise.adapters.clients.kafka_python.writer import write
from rackwise.adapters.kafka import connect
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.core.partitioner import partition_for_key
from rackwise.pipeline.kafka.records import KafkaTopic
from rackwise.pipeline.kafka.source import source_of
from rackwise.pipeline.kafka.table import PUSHDOWN
from refusals import called
from stream_runs import offsets, send
from telemetry import message

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

TOPIC = "telemetry-for-python"


@pytest.fixture
def bootstrap(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, TOPIC, [[0, 1, 2], [1, 2, 0]], retention_ms="-1")
        yield kraft_cluster.bootstrap
        delete(admin, TOPIC)


def read(bootstrap, home, *more):
    place = ["--out", str(home / "out"), "--checkpoint", str(home / "mark"), "--topic", TOPIC]
    words = ["--connector", "python", "--bootstrap-server", bootstrap, *place, *more]
    code, out, err = called("--json", "stream", "run", *words)
    assert code == 0, err
    return parse(out.encode(), where="stdout", error=InvalidConfig)


@pytest.mark.usefixtures("spark")
def test_each_run_reads_the_records_that_are_new(bootstrap, tmp_path):
    send(bootstrap, TOPIC, [message(f"e{number}") for number in range(7)])
    assert read(bootstrap, tmp_path) == {
        "format": "rackwise.stream-run/1",
        "batches": 1,
        "messages": 7,
        "kept": 7,
        "reasons": {"kept": 7},
        "bytes": 700,
    }
    send(bootstrap, TOPIC, [b"no telemetry", message(v=2), None])
    report = read(bootstrap, tmp_path)
    assert report["reasons"] == {"malformed:json": 2, "malformed:version": 1}
    found = offsets(tmp_path)
    assert set(found.values()) == {1}
    assert sorted(found) == [(0, at) for at in range(6)] + [(1, at) for at in range(4)]
    assert read(bootstrap, tmp_path)["batches"] == 0


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("sent", "has_id", "said"), [(2, False, "got an end of 1;"), (12, True, "the topic id ")]
)
def test_the_records_of_a_topic_that_was_created_again_are_not_skipped(
    bootstrap, tmp_path, sent, has_id, said
):
    """With 2 records the ends are before the checkpoint, with 12 after it."""
    send(bootstrap, TOPIC, [message(f"e{number}") for number in range(8)])
    assert read(bootstrap, tmp_path)["messages"] == 8
    before = offsets(tmp_path)
    stored = tmp_path / "mark" / "offsets" / "0"
    if not has_id:  # as a checkpoint of brokers that give no id, or of an earlier version
        stored.write_text(re.sub(rf', "{TOPIC}/id": "[0-9a-f]+"', "", stored.read_text()))
        (stored.parent / ".0.crc").unlink()
    assert (f"{TOPIC}/id" in stored.read_text()) is has_id
    with closing(connect(bootstrap)) as admin:
        delete(admin, TOPIC)
        create(admin, TOPIC, [[0, 1, 2], [1, 2, 0]], retention_ms="-1")
    send(bootstrap, TOPIC, [message(f"f{number}") for number in range(sent)])
    place = ["--out", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "mark")]
    words = ["--connector", "python", "--bootstrap-server", bootstrap, "--topic", TOPIC]
    code, out, err = called("stream", "run", *words, *place)
    error, hint = err.splitlines()[-2:]
    assert (code, out) == (4, "")
    assert error.startswith(f"error: topic {TOPIC} is not the topic of the checkpoint: expected ")
    assert said in error
    assert hint.startswith("hint: choose another --checkpoint: ")
    assert offsets(tmp_path) == before


def source(bootstrap, *, most=10, takes_filters=False, rack_file=None):
    """The data source of the topic, for reading and writing."""
    reach = Reach(bootstrap=bootstrap, rack_file=rack_file)
    topic = KafkaTopic(
        name=TOPIC,
        ends=partial(ends, reach, TOPIC),
        records=partial(records, reach, TOPIC),
        write=partial(write, reach, TOPIC),
        most=most,
        topic_id=partial(topic_id, reach, TOPIC),
    )
    return source_of(topic, takes_filters=takes_filters)


def test_available_now_reads_to_the_end_in_limited_batches(bootstrap, spark, tmp_path):
    send(bootstrap, TOPIC, [b"%d" % number for number in range(25)])
    spark.dataSource.register(source(bootstrap))
    seen = []
    query = (
        spark.readStream.format("rackwise-kafka")
        .load()
        .writeStream.foreachBatch(lambda rows, _: seen.append(rows.select("value").collect()))
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert [len(each) for each in seen] == [9, 10, 6]
    assert {int(row.value) for each in seen for row in each} == set(range(25))
    stored = (tmp_path / "offsets" / "2").read_text().splitlines()[-1]
    key = topic_id(Reach(bootstrap=bootstrap), TOPIC)
    assert stored == f'{{"{TOPIC}": {{"0": 13, "1": 12}}, "{TOPIC}/id": "{key}"}}'


@pytest.mark.parametrize("is_on", [False, True])
def test_filters_limit_what_is_read_if_spark_pushes_them_down(bootstrap, spark, is_on):
    send(bootstrap, TOPIC, [b"%d" % number for number in range(20)])
    spark.conf.set(PUSHDOWN, str(is_on).lower())
    try:
        spark.dataSource.register(source(bootstrap, takes_filters=is_on))
        assert spark.read.format("rackwise-kafka").load().count() == 20
        table = spark.read.format("rackwise-kafka").load()
        few = table.where("partition = 1 and offset >= 8 and value is not null")
        assert sorted(int(row.value) for row in few.collect()) == [17, 19]
        parts = few.select(F.spark_partition_id()).distinct().count()
        assert (few.rdd.getNumPartitions(), parts) == ((1, 1) if is_on else (2, 1))
        if not is_on:
            spark.dataSource.register(source(bootstrap, takes_filters=True))
            with pytest.raises(AnalysisException, match="DATA_SOURCE_PUSHDOWN_DISABLED"):
                spark.read.format("rackwise-kafka").load().count()
    finally:
        spark.conf.unset(PUSHDOWN)


def test_rows_without_a_key_stay_in_the_rack_and_keys_keep_their_partition(
    bootstrap, spark, tmp_path
):
    (tmp_path / "rack").write_text("b")
    spark.dataSource.register(source(bootstrap, rack_file=str(tmp_path / "rack")))
    values = spark.range(60).select(F.col("id").cast("string").alias("value"))
    for frame in (values, values.withColumn("key", F.concat(F.lit("k"), "value"))):
        frame.write.format("rackwise-kafka").mode("append").save()
    reach = Reach(bootstrap=bootstrap)
    found = {
        number: [each for some in records(reach, TOPIC, number, 0, end) for each in some]
        for number, (_, end) in ends(reach, TOPIC).items()
    }
    assert [each.value for each in found[0] if each.key is None] == []
    assert sum(each.key is None for each in found[1]) == 60
    for number, those in found.items():
        keyed = [each for each in those if each.key is not None]
        assert keyed
        assert {partition_for_key(each.key, 2) for each in keyed} == {number}
    assert sum(map(len, found.values())) == 120
