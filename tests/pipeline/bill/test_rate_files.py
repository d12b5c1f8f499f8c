"""Rate tables as Parquet: valid rows, invalid rows, and files that are not rate tables."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from rackwise.core.errors import InvalidRates
from rackwise.core.traffic import RateRow
from rackwise.pipeline.bill.rate_files import parse_rate_parquet

TYPES = {
    "cluster": pa.string(),
    "topic": pa.string(),
    "bytes_in_per_s": pa.int64(),
    "client_group": pa.string(),
    "bytes_out_per_s": pa.int64(),
}
ROW = dict.fromkeys(TYPES) | {"cluster": "demo", "topic": "orders", "bytes_in_per_s": 7}


def packed(table):
    file = BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()


def data_of(*rows, types=None, without=()):
    kinds = {name: kind for name, kind in (TYPES | (types or {})).items() if name not in without}
    return packed(pa.Table.from_pylist(list(rows), schema=pa.schema(list(kinds.items()))))


def refused(data):
    with pytest.raises(InvalidRates) as caught:
        parse_rate_parquet(data, where="r.parquet")
    return caught.value


def test_rows_are_those_of_the_file_in_its_order():
    rows = [ROW, ROW | {"bytes_in_per_s": None, "client_group": "g", "bytes_out_per_s": 0}]
    small = {"bytes_in_per_s": pa.int32(), "topic": pa.large_string()}
    assert parse_rate_parquet(data_of(*rows, types=small), where="r.parquet") == (
        RateRow(cluster="demo", topic="orders", bytes_in_per_s=7),
        RateRow(cluster="demo", topic="orders", client_group="g", bytes_out_per_s=0),
    )


def test_group_columns_are_optional_and_unknown_columns_are_ignored():
    data = data_of(ROW, types={"owner": pa.int8()}, without=("client_group", "bytes_out_per_s"))
    assert parse_rate_parquet(data, where="r") == (
        RateRow(cluster="demo", topic="orders", bytes_in_per_s=7),
    )


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"cluster": None}, "expected a cluster name, got null or nothing", "fill in cluster"),
        ({"topic": ""}, "expected a topic name, got null or nothing", "fill in topic"),
        (
            {"bytes_in_per_s": None},
            "expected bytes_in_per_s or bytes_out_per_s, got null in both",
            "fill in a rate",
        ),
        (
            {"client_group": "g"},
            "expected a value in bytes_out_per_s, got null or nothing",
            "fill in both client_group and bytes_out_per_s, or neither",
        ),
        (
            {"bytes_out_per_s": 5},
            "expected a value in client_group, got null or nothing",
            "fill in both client_group and bytes_out_per_s, or neither",
        ),
    ],
)
def test_an_invalid_row_is_reported_with_its_number(changes, message, hint):
    error = refused(data_of(ROW, ROW | changes))
    assert error.message == f"r.parquet: row 1: {message}"
    assert (error.hint, error.where) == (hint, "r.parquet: row 1")


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        (
            b"cluster,topic\n",
            "expected Parquet, got a file that begins with b'clus'",
            "write CSV or Parquet",
        ),
        (b"", "expected Parquet, got a file that begins with b''", "write CSV or Parquet"),
        (
            data_of(ROW, without=("topic",)),
            ("expected a column topic, got cluster, bytes_in_per_s, client_group, bytes_out_per_s"),
            "add the column",
        ),
        (
            data_of(ROW, types={"bytes_in_per_s": pa.float64()}),
            "expected an integer in column bytes_in_per_s, got double",
            "cast the column",
        ),
        (
            data_of({"cluster": 1, "topic": "t"}, types={"cluster": pa.int8()}),
            "expected text in column cluster, got int8",
            "cast the column",
        ),
    ],
)
def test_a_file_that_is_not_a_rate_table(data, message, hint):
    error = refused(data)
    assert (error.message, error.hint) == (f"r.parquet: {message}", hint)


@pytest.mark.parametrize(
    "data",
    [
        packed(pa.table([["a"], ["b"], ["c"]], names=["cluster", "topic", "topic"])),
        data_of(ROW)[:-9],
    ],
)
def test_an_error_of_pyarrow_is_part_of_the_message(data):
    error = refused(data)
    assert error.message.startswith("r.parquet: expected Parquet, got an error from pyarrow: ")
    assert error.hint == "write CSV or Parquet"


GOLDEN = data_of(ROW, ROW | {"client_group": "g", "bytes_out_per_s": 5})


@given(
    st.lists(st.tuples(st.integers(0, len(GOLDEN) - 1), st.integers(0, 255)), max_size=3),
    st.integers(0, len(GOLDEN)),
)
def test_no_other_exception_than_invalid_rates(changes, end):
    data = bytearray(GOLDEN)
    for place, byte in changes:
        data[place] = byte
    with suppress(InvalidRates):
        parse_rate_parquet(bytes(data), where="r")
    with suppress(InvalidRates):
        parse_rate_parquet(bytes(data[:end]), where="r")
