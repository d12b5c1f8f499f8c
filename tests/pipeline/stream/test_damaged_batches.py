"""Batches of telemetry with damaged or missing files: no day is compacted without them."""

from __future__ import annotations

from datetime import date

import pytest

from parquet_damage import bad_pages
from rackwise.core.errors import InvalidConfig
from rackwise.pipeline.stream.compact import compact
from rackwise.pipeline.stream.store import Store
from telemetry import KAFKA, arriving, demo_messages

pytestmark = pytest.mark.spark

TOKEN = f"{7:016x}"
DAY = date(2026, 11, 1)


def cut(file):
    file.write_bytes(file.read_bytes()[:-30])


def empty(file):
    file.write_bytes(b"")


def removed(file):
    file.unlink()


@pytest.mark.parametrize("change", [bad_pages, cut, empty, removed])
def test_a_damaged_batch_is_named(spark, tmp_path, change):
    from rackwise.pipeline.stream.run import keep_batch

    values, _ = demo_messages()
    store = Store(str(tmp_path))
    keep_batch(spark.createDataFrame(arriving(values), KAFKA), 0, store=store, token=TOKEN)
    (batch,) = store.batches()
    folder = store.folder_of(batch)
    file = min((tmp_path / folder).glob("*.parquet"))
    change(file)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    with pytest.raises(InvalidConfig, match="that can be read, got a damaged file: ") as caught:
        compact(spark, str(tmp_path), DAY)
    named = folder if change is removed else file.name
    assert named in caught.value.message
    assert "\n" not in caught.value.message
