"""Tables of different columns pass through one frame."""

from __future__ import annotations

import pyarrow as pa

from rackwise.pipeline.columns import packed_tables as module
from rackwise.pipeline.columns.packed_tables import packed_tables, unpacked_tables


def test_tables_keep_their_columns_and_rows_in_order(monkeypatch):
    """A long table is several rows, and a table without rows is none."""
    monkeypatch.setattr(module, "MOST_ROWS", 2)
    tables = {
        "a": pa.table({"n": [1, None, 3], "text": ["x", "y", None]}),
        "none": pa.table({"n": pa.array([], pa.int8())}),
        "b": pa.table({"day": pa.array([5], pa.date32())}),
    }
    rows = pa.Table.from_batches([*packed_tables(tables), *packed_tables({"a": tables["a"]})])
    assert rows["name"].to_pylist() == ["a", "a", "b", "a", "a"]
    found = {name: pa.concat_tables(parts) for name, parts in unpacked_tables(rows).items()}
    assert found == {"a": pa.concat_tables([tables["a"]] * 2), "b": tables["b"]}


def test_equal_texts_are_sent_compressed():
    table = pa.table({"cluster": ["prod-eu"] * 10_000})
    (row,) = packed_tables({"a": table})
    assert 3 * row.nbytes < table.nbytes
