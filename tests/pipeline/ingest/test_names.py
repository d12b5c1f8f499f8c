"""Each name in the files once, whatever files have which columns."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

from rackwise.core.errors import InvalidFlows
from rackwise.core.racks import Rack
from rackwise.pipeline.engines.local import LocalEngine
from rackwise.pipeline.ingest.files import local_files
from rackwise.pipeline.ingest.names import FoundNames, names_by_task

COLUMNS = ("cluster", "client_rack", "client_group", "topic", "bytes")
ROWS = [
    ("one", "/eu/a", "readers", "orders", 1),
    ("two", "/eu//a", None, "orders", 2),
    ("one", None, "readers", None, 3),
    (None, "/eu/b", "", "lost", 4),
    ("two", "/eu/a", "writers", "orders", 5),
]


def write(path, rows=ROWS, columns=COLUMNS):
    table = pa.table(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)))
    parquet.write_table(table.select(columns), path, row_group_size=2)


def names_of(folder, columns=COLUMNS):
    return names_by_task(LocalEngine(), local_files([str(folder)]), columns)


def test_each_name_is_found_once_and_in_order(tmp_path):
    write(tmp_path / "a.parquet")
    write(tmp_path / "b.parquet", [("three", None, None, "billing", 6), *ROWS])
    assert names_of(tmp_path) == FoundNames(
        racks=(Rack("/eu/a"), Rack("/eu/b")),
        groups=("", "readers", "writers"),
        topics=(("one", "orders"), ("three", "billing"), ("two", "orders")),
    )


def test_files_may_have_different_columns(tmp_path):
    write(tmp_path / "a.parquet", columns=("cluster", "topic"))
    write(tmp_path / "b.parquet", columns=("client_group", "topic"))
    assert names_of(tmp_path) == FoundNames(
        groups=("", "readers", "writers"), topics=(("one", "orders"), ("two", "orders"))
    )


def test_files_without_names_are_not_opened(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no PAR1")
    assert names_of(tmp_path, ("cluster", "bytes")) == FoundNames()
    with pytest.raises(InvalidFlows, match=r"got a damaged one: .*a\.parquet"):
        names_of(tmp_path)
