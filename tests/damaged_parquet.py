"""Readers of Parquet on damaged files: what they may do, and sound files to begin with."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.types import LongType, StringType, StructField, StructType

from canonical_flows import COLUMNS, demo_flows
from parquet_damage import damaged
from rackwise.core.errors import RackwiseError
from rackwise.pipeline.bill.rate_files import parse_rate_parquet
from rackwise.pipeline.engines.local import LocalEngine
from rackwise.pipeline.ingest.explain.costs import sample
from rackwise.pipeline.ingest.revisions import best_revisions
from rackwise.pipeline.ingest.splits import SplitReader, dealt_splits, with_named_damage

CODECS = ("snappy", "zstd", "gzip", "none")
COUNT = StructType([StructField("n", LongType())])


def written(table, codec="snappy", **options):
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression=codec, **options)
    return sink.getvalue()


@cache
def flow_table():
    """Rows in the canonical format, with numbers of revisions."""
    types = {"time": pa.timestamp("us", tz="UTC")}
    kinds = {name: types.get(kind) or pa.type_for_alias(kind) for name, kind in COLUMNS.items()}
    rows = [*demo_flows()] * 20
    table = pa.Table.from_pylist(rows, schema=pa.schema([*kinds.items()]))
    ones = pa.array([1] * len(table), pa.int32())
    return table.append_column("emitter", pa.array(["e"] * len(table))).append_column(
        "revision", ones
    )


@cache
def sound(reader, codec):
    """The content of a sound file for a reader, in row groups of 70 rows or of one."""
    if reader == "rates":
        names = [f"t{number}" for number in range(99)]
        numbers = pa.array(range(99), pa.int64())
        columns = {"cluster": ["demo"] * 99, "topic": names, "bytes_in_per_s": numbers}
        return written(pa.table(columns), codec, row_group_size=40)
    version = {"zstd": "2.0"}.get(codec, "1.0")
    rows = {"gzip": 1}.get(codec, 70)
    table = flow_table().slice(0, 12) if rows == 1 else flow_table()
    return written(table, codec, row_group_size=rows, data_page_version=version)


def count_rows(batches):
    for batch in batches:
        yield pa.RecordBatch.from_pylist([{"n": batch.num_rows}])


def read_flows(data, folder):
    """All that `analyze --engine local` reads of a flow file. Raises `RackwiseError`."""
    path = Path(folder, "flows.parquet")
    path.write_bytes(data)
    engine = LocalEngine()
    files = engine.list_flows([str(path)])
    sample(files, has_row_per_line=True)
    opened = engine.open_flows(files, "canonical", keep=None)
    opened.names()
    columns = StructType([StructField(name, StringType()) for name in sorted(opened.columns)])
    reader = SplitReader(needed=columns, coded=("topic", "kind"), work=count_rows)
    with with_named_damage(*engine.failures):
        best_revisions(engine, files)
        engine.map(dealt_splits(engine, files, ()), reader, COUNT).table()


def read_rates(data, _):
    """Read a table of rates. Raises `RackwiseError`."""
    parse_rate_parquet(data, where="rates.parquet")


PARQUET_READERS = {"flows": read_flows, "rates": read_rates}


def check_damaged(reader, seed, folder):
    """Law: a reader reads or rejects, in one line that has the name of the file.

    Whether it rejected. Raises what else the reader raises, with the damage in a note.
    """
    said, data = damaged(sound(reader, CODECS[seed % len(CODECS)]), seed)
    message = None
    try:
        PARQUET_READERS[reader](data, folder)
    except RackwiseError as error:
        message = error.message
    except Exception as error:
        error.add_note(f"{reader}, seed {seed}: {said}")
        raise
    if message is not None:
        assert f"{reader}.parquet" in message, (seed, said, message)
        assert message.isprintable(), (seed, said)
    return message is not None
