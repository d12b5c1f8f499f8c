"""The registry of flow formats, which the command line, the generator and the checks use."""

import subprocess
import sys

import pytest

from flow_rows import buckets_of, fleet_of
from rackwise.core.errors import InvalidConfig
from rackwise.core.fleet import FlowFormat
from rackwise.core.text import alternatives
from rackwise.pipeline.ingest.formats import (
    DEFAULT,
    FORMATS,
    flow_facts,
    input_format,
    read_flows,
)
from rackwise.pipeline.ingest.formats.canonical import CanonicalFormat
from small_fleets import cluster


def test_names_are_those_of_the_command_line():
    assert [*FORMATS] == ["vpc", "canonical", "request-log", "gcp", "azure", "tgw", "obi"]
    assert all(each.name == name for name, each in FORMATS.items())
    assert DEFAULT in FORMATS


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InvalidConfig) as raised:
        input_format("csv")
    assert f"expected {alternatives([*FORMATS])}, got csv" in raised.value.message


@pytest.mark.parametrize("generated", FlowFormat)
def test_exactly_one_format_reads_each_generated_format(generated):
    assert len([each for each in FORMATS.values() if generated in each.generated_as]) == 1


def test_each_reason_has_a_sentence():
    for each in FORMATS.values():
        assert all(text.endswith(".") for text in each.reasons.values())


def test_the_registry_loads_without_spark():
    code = "import sys, rackwise.pipeline.ingest.formats; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


HEADER = "time,cluster,op,rack,broker,topic,bytes"


class CsvFormat(CanonicalFormat):
    """CSV as an exporter might write it: the recipe of ARCHITECTURE.md for text."""

    name = "csv"
    title = "CSV of an exporter"
    files = "CSV"
    generated_as = ()
    is_by_file = False

    def read(self, spark, files):
        """Rows of `schemas.BRONZE_INPUT`."""
        from pyspark.sql import functions as F  # noqa: N812

        from rackwise.pipeline.ingest.parquet_files import with_schema
        from rackwise.pipeline.ingest.text import marked_lines
        from rackwise.pipeline.schemas import BRONZE_INPUT

        lines, _ = marked_lines(spark, files, HEADER, hint="write a header")
        cells = F.split("value", ",", -1)
        time, cluster, op, rack, broker, topic, size = (F.get(cells, F.lit(i)) for i in range(7))
        start, number = time.try_cast("timestamp"), broker.try_cast("int")
        amount = size.try_cast("bigint")
        rows = lines.where(F.col("value") != HEADER).select(
            cluster.alias("cluster"),
            start.alias("window_start"),
            F.lit(60).alias("window_s"),
            op.alias("kind"),
            rack.alias("client_rack"),
            number.alias("broker_id"),
            topic.alias("topic"),
            amount.alias("bytes"),
            F.lit("otlp").alias("source"),
            F.when(number.isNull(), "malformed:broker_id").alias("outcome"),
            F.col("value").alias("raw"),
            "source_file",
        )
        return with_schema(rows, BRONZE_INPUT)


@pytest.mark.spark
def test_a_format_of_the_recipe_reads_text(spark, tmp_path, monkeypatch):
    from rackwise.pipeline.schemas import KINDS, SOURCES

    monkeypatch.setitem(FORMATS, CsvFormat.name, CsvFormat())
    (tmp_path / "a.csv").write_text(
        f"{HEADER}\n"
        "2026-11-01T12:00:00Z,demo,fetch,a,1,orders,100\n"
        "2026-11-01T12:00:00Z,demo,fetch,a,one,orders,7\n"
    )
    fleet = fleet_of({"demo.json": cluster({1: "a", 2: "b"}, {"orders": ((1, 2),)})})
    rows = read_flows(spark, [str(tmp_path)], "csv")
    kept, malformed = sorted(
        flow_facts(rows, fleet, buckets_of(fleet), format="csv").collect(),
        key=lambda fact: fact.reason,
    )
    assert (kept.reason, kept.bytes, KINDS[kept.kind]) == ("kept", 100, "fetch")
    assert SOURCES[kept.source] == "otlp"
    assert (malformed.reason, malformed.bytes) == ("malformed:broker_id", 7)
    assert malformed.raw.endswith(",one,orders,7")
