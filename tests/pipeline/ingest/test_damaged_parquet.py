"""Damaged Parquet: every reader reads it or rejects it in one line, whatever pyarrow does."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from pyarrow import parquet

from damaged_parquet import (
    CODECS,
    PARQUET_READERS,
    check_damaged,
    flow_table,
    read_flows,
    read_rates,
    sound,
    written,
)
from parquet_damage import body_of, damaged, footer_of, pages_of, with_footer, with_short_maximum
from rackwise.core.errors import InvalidConfig, InvalidFlows, InvalidRates
from rackwise.pipeline.engines.local import LocalEngine
from rackwise.pipeline.engines.spark import SessionEngine
from rackwise.pipeline.ingest.files import local_files
from rackwise.pipeline.ingest.revisions import best_revisions
from rackwise.pipeline.ingest.splits import crash_in, with_named_damage
from rackwise.pipeline.schemas import WEIGHT, arrow_schema

SEEDS = 60
"""Damaged files of each reader in every run; `make fuzz` tries more."""


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("reader", PARQUET_READERS)
def test_a_file_that_is_only_encoded_again_is_read(reader, codec, tmp_path):
    data = sound(reader, codec)
    assert len(pages_of(data)) > 6
    PARQUET_READERS[reader](with_footer(body_of(data), footer_of(data)), tmp_path)


@pytest.mark.parametrize("reader", PARQUET_READERS)
def test_a_damaged_file_is_read_or_rejected_in_one_line(reader, tmp_path):
    rejected = sum(check_damaged(reader, seed, tmp_path) for seed in range(SEEDS))
    assert rejected > SEEDS // 2


def test_every_run_has_each_kind_of_damage_and_each_codec():
    kinds = {damaged(sound("rates", "none"), seed)[0].split()[0] for seed in range(SEEDS)}
    assert kinds == {"footer", "page", "flipped", "cut"}
    assert len(CODECS) <= SEEDS


def test_a_file_that_crashes_its_reader_is_named(tmp_path):
    data = with_short_maximum(sound("flows", "snappy"), "revision")
    with pytest.raises(InvalidFlows, match=r"flows\.parquet: the reader ended with SIGABRT") as it:
        read_flows(data, tmp_path)
    assert it.value.hint == "download the file again, or omit it"


@pytest.mark.parametrize("name", ["bytes", "Bytes"])
def test_a_column_that_is_there_twice_is_named(name, tmp_path):
    table = flow_table()
    twice = table.append_column(name, table["bytes"])
    with pytest.raises(InvalidFlows, match="expected each column once, got bytes twice"):
        read_flows(written(twice), tmp_path)


def test_rates_of_a_column_that_is_there_twice_are_rejected():
    columns = [pa.array(["a"]), pa.array(["b"]), pa.array(["c"]), pa.array([1])]
    table = pa.table(columns, names=["cluster", "topic", "topic", "bytes_in_per_s"])
    with pytest.raises(InvalidRates, match="topic"):
        read_rates(written(table), None)


@pytest.mark.parametrize("damage", ["footer", "page"])
def test_a_damaged_table_of_an_earlier_run_is_named(damage, tmp_path):
    rows = arrow_schema(WEIGHT).empty_table().to_pylist()
    table = pa.Table.from_pylist([*rows, {}] * 9, schema=arrow_schema(WEIGHT))
    table = pa.Table.from_arrays(
        [
            pa.array(["x" * 9] * 9) if pa.types.is_string(field.type) else column
            for field, column in zip(table.schema, table.columns, strict=True)
        ],
        schema=table.schema,
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes()
    page = pages_of(data)[0]
    bad = data[:-30] if damage == "footer" else data[:4] + b"\xff" * 30 + data[34:]
    assert page.start == 4
    (tmp_path / "a.parquet").write_bytes(bad)
    engine = LocalEngine()
    with pytest.raises(InvalidConfig, match=r"got a damaged file: .*a\.parquet") as caught:
        engine.collect(engine.read(str(tmp_path), WEIGHT))
    assert "\n" not in caught.value.message


@pytest.mark.spark
def test_a_file_that_crashes_a_worker_of_spark_is_named(spark, tmp_path):
    engine = SessionEngine(spark)
    (tmp_path / "a.parquet").write_bytes(sound("flows", "snappy"))
    bad = tmp_path / "b.parquet"
    bad.write_bytes(with_short_maximum(sound("flows", "snappy"), "revision"))
    files = local_files([str(tmp_path)])
    assert crash_in(engine, files[:1]) is None
    crash = partial(crash_in, engine, files)
    with (
        pytest.raises(InvalidFlows, match=r"b\.parquet: the reader ended with SIGABRT"),
        with_named_damage(*engine.failures, crash=crash),
    ):
        best_revisions(engine, files)
