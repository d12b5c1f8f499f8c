"""Telemetry in tables: every message once, with its outcome (without Kafka)."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from datetime import date

import pytest

from rackwise.core.errors import ConnectorMissing, InvalidConfig, InvalidFlows
from rackwise.pipeline.stream.store import Batch, Store
from refusals import called, check_refused
from telemetry import KAFKA, ROW, arriving, message

DAY = date(2026, 11, 1)
DAY_NUMBER = 20758
TOKEN = f"{7:016x}"


@pytest.mark.spark
class TestBatches:
    @pytest.mark.connect
    def test_a_repeated_batch_counts_once(self, spark, tmp_path):
        """Killed before the mark: written anew. After it: left as it is."""
        from rackwise.pipeline.stream.run import keep_batch

        store = Store(str(tmp_path))
        first = spark.createDataFrame(arriving([message(), b"no"]), KAFKA)
        half = tmp_path / "stream" / f"epoch={TOKEN}" / "batch_id=0" / "attempt=half"
        half.mkdir(parents=True)
        (half / "part-half.parquet").write_bytes(b"half")
        keep_batch(first, 0, store=store, token=TOKEN)
        (batch,) = store.batches()
        assert batch == Batch(
            token=TOKEN,
            batch_id=0,
            attempt=batch.attempt,
            reasons={"kept": 1, "malformed:json": 1},
            bytes=100,
            offsets={"t-0": (0, 1)},
            days=(DAY_NUMBER, DAY_NUMBER),
        )
        assert batch.messages == 2
        assert not half.exists()
        sums = spark.read.parquet(store.folder_of(batch, table="stream_gold")).collect()
        assert [row.asDict() for row in sums] == [
            {
                "window_start": sums[0].window_start,
                "cluster": "demo",
                "kind": "produce",
                "topic": "orders",
                "client_group": None,
                "client_rack": "/eu/a",
                "broker_id": 1,
                "rows": 1,
                "bytes": 100,
            }
        ]
        half.mkdir()
        written = {path: path.stat().st_mtime_ns for path in half.parent.glob("*/*")}
        keep_batch(first, 0, store=store, token=TOKEN)
        assert not half.exists()
        assert {path: path.stat().st_mtime_ns for path in half.parent.glob("*/*")} == written
        assert store.batches() == (batch,)

    @pytest.mark.long
    def test_one_message_of_a_window_is_accepted(self, spark, tmp_path):
        from rackwise.pipeline.stream.compact import compact
        from rackwise.pipeline.stream.run import keep_batch

        late_s, next_day_s, too_late_s = 2 * 3600 + 61, 86_400, 3 * 86_400 + 61
        again = message("e2", minute=1, rows=[(*ROW[:4], 9)])
        sent = [
            message(rows=[(*ROW[:4], 1)]),
            message(revision=1, rows=[(*ROW[:4], 2)]),
            message(revision=1, rows=[(*ROW[:4], 3), ROW]),
            again,
            again,
            b"no",
            message("e9", minute=24 * 60),
        ]
        store = Store(str(tmp_path))
        for number, rows in enumerate(
            (
                arriving(sent),
                arriving([message("e3")], late_s=late_s, first=10),
                arriving([message("e4"), b"no"], late_s=too_late_s, first=11),
                arriving([b"no", b"no"], late_s=next_day_s, first=13),
            )
        ):
            keep_batch(spark.createDataFrame(rows, KAFKA), number, store=store, token=TOKEN)
        shutil.copytree(store.folder_of(store.batches()[0]), store.folder(TOKEN, 4, "0"))
        counts, folder = compact(spark, str(tmp_path), DAY)
        assert asdict(counts) == {
            "messages": 7,
            "accepted": 3,
            "superseded": 1,
            "duplicate": 2,
            "quarantined": 1,
            "conflicts": 1,
            "late": 1,
            "rows": 4,
            "bytes": 3 + 100 + 9 + 100,
            "batches": 2,
            "reasons": {"malformed:json": 1},
        }
        found = spark.read.parquet(folder).orderBy("emitter", "bytes").collect()
        assert [(row.emitter, row.bytes, row.source) for row in found] == [
            ("e1", 3, "telemetry"),
            ("e1", 100, "telemetry"),
            ("e2", 9, "telemetry"),
            ("e3", 100, "telemetry"),
        ]
        with pytest.raises(InvalidFlows, match="2026-11-01 to 2026-11-04"):
            compact(spark, str(tmp_path), date(2026, 11, 3))

    @pytest.mark.long
    def test_sums_of_five_minutes_count_a_repeated_window_twice(self, spark, tmp_path):
        """Law: over the batches they are what was kept; once it is compacted, what counts."""
        from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

        from rackwise.pipeline.stream.compact import compact
        from rackwise.pipeline.stream.run import keep_batch

        store = Store(str(tmp_path))
        sent = [message(minute=number, rows=[ROW, ROW]) for number in (0, 4, 5, 9, 10)]
        for number, values in enumerate((sent[:3], [*sent[3:], b"no"], sent[:2])):
            rows = spark.createDataFrame(arriving(values, first=10 * number), KAFKA)
            keep_batch(rows, number, store=store, token=TOKEN)
        folders = [store.folder_of(each, table="stream_gold") for each in store.batches()]
        windows = spark.read.parquet(*folders).groupBy("window_start", "topic", "broker_id")
        found = windows.agg(F.sum("rows").alias("rows"), F.sum("bytes").alias("bytes"))
        assert [
            (row.window_start.minute, row["rows"], row["bytes"])
            for row in found.orderBy("window_start").collect()
        ] == [(0, 8, 800), (5, 4, 400), (10, 2, 200)]
        assert sum(each.bytes for each in store.batches()) == 1400
        assert compact(spark, str(tmp_path), DAY)[0].bytes == 1000

    @pytest.mark.connect
    def test_a_session_without_the_connector_is_reported(self, spark, tmp_path, monkeypatch):
        from rackwise.pipeline.stream.run import StreamOptions, start

        place = {"out": str(tmp_path / "out"), "checkpoint": str(tmp_path / "mark")}
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", "http://127.0.0.1:1/")
        with pytest.raises(ConnectorMissing) as missing:
            start(spark, StreamOptions(bootstrap="127.0.0.1:1", topic="t", **place))
        package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"
        assert missing.value.hint == f"start Spark with --packages {package}"
        assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "key",
    [
        "kafka.auto.offset.reset",
        "kafka.Key.Deserializer",
        "kafka.value.deserializer",
        "kafka.key.serializer",
        "kafka.value.serializer",
        "kafka.enable.auto.commit",
        "kafka.interceptor.classes",
        "auto.offset.reset",
        "acks",
    ],
)
def test_options_that_spark_sets_are_rejected(key):
    from rackwise.pipeline.stream.run import StreamOptions

    place = {"bootstrap": "h:1", "topic": "t", "out": "o", "checkpoint": "c"}
    with pytest.raises(InvalidConfig, match="expected one that Spark does not set itself"):
        StreamOptions(**place, kafka={key: "x"})


RUN = ["stream", "run", "--bootstrap-server", "h:1", "--out", "o", "--checkpoint", "c"]
REFUSED = [
    (
        [*RUN, "--interval", "soon"],
        "invalid --interval: expected a time such as 60s, 5m or 1h, got soon",
        "omit --interval to read what the topic has and stop",
    ),
    (
        [*RUN, "--starting", "now"],
        "invalid --starting: expected earliest or latest, got now",
        "choose one of these for --starting",
    ),
    (
        [*RUN, "--kafka-option", "kafka.acks"],
        "invalid --kafka-option: expected KEY=VALUE, got kafka.acks",
        (
            "for example --kafka-option 'kafka.security.protocol=SSL'; repeat --kafka-option for "
            "each key"
        ),
    ),
    (
        [*RUN, "--kafka-option", "kafka.acks=1", "--kafka-option", "kafka.acks=0"],
        "invalid --kafka-option: expected each key once, got kafka.acks twice",
        "omit one --kafka-option of this key",
    ),
    (
        [*RUN, "--conf", "spark.x=1", "--conf", "spark.x=2"],
        "invalid --conf: expected each key once, got spark.x twice",
        "omit one --conf of this key",
    ),
    (
        ["stream", "compact", "s.json", "--out", "o"],
        "expected exactly one of --date and --yesterday, got none",
        "give --date 2026-11-01, or --yesterday in a job that runs each night",
    ),
    (
        ["stream", "compact", "s.json", "--out", "o", "--date", "today"],
        "invalid --date: expected a day such as 2026-11-01, got today",
        "write year, month and day with hyphens",
    ),
]


@pytest.mark.parametrize(("command", "message", "hint"), REFUSED)
def test_refused(command, message, hint):
    check_refused(command, message, hint)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_day_without_messages_is_rejected(tmp_path):
    code, out, err = called("stream", "compact", "s", "--out", tmp_path, "--date", "2026-11-01")
    assert (code, out) == (1, "")
    assert "error: expected messages of 2026-11-01, got none\n" in err


@pytest.mark.spark
@pytest.mark.parametrize(
    ("day", "said"),
    [
        (
            "2026-11-01",
            (
                "expected a valid message of 2026-11-01, got 3 messages in quarantine: "
                "2 malformed:json, 1 malformed:version"
            ),
        ),
        ("2026-10-31", "expected messages of 2026-10-31, got messages of 2026-11-01"),
        ("2026-11-02", "expected messages of 2026-11-02, got messages of 2026-11-01"),
    ],
)
def test_a_day_of_which_no_message_counts_says_why(spark, tmp_path, day, said):
    from rackwise.pipeline.stream.run import keep_batch

    values = [b"no telemetry", message(v=2), None]
    rows = spark.createDataFrame(arriving(values), KAFKA)
    keep_batch(rows, 0, store=Store(str(tmp_path)), token=TOKEN)
    code, out, err = called("stream", "compact", "s", "--out", tmp_path, "--date", day)
    error, hint = err.splitlines()[-2:]
    assert (code, out, error) == (1, "", f"error: {said}")
    assert (f"column `raw` of {tmp_path}/stream has each message" in hint) is (day == str(DAY))
    assert list((tmp_path / "stream").glob("_compacting-*")) == []
