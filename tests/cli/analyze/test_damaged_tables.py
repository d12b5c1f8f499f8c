"""Damaged Parquet that Spark itself reads: one line names the file, and nothing is published."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest
from pyarrow import parquet

from canonical_flows import demo_flows, write_flows
from cost_reports import line, parquet_report
from parquet_damage import bad_pages
from rackwise.adapters.files import read_published, write_snapshot
from refusals import called
from small_fleets import DEMO_READERS, GIB, cluster

pytestmark = pytest.mark.spark

TABLE = "expected a table of an earlier run that can be read, got a damaged file: "
FLOWS = "expected flow files that can be read, got a damaged one: "


def long(*values):
    """A case that `make test` leaves out: another one takes the same way."""
    return pytest.param(*values, marks=pytest.mark.long)


def cut(file):
    """A download that ended early."""
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def empty(file):
    file.write_bytes(b"")


def other_types(file):
    """All texts as numbers, and all others as texts."""
    table = parquet.read_table(file, partitioning=None)
    columns = [
        pa.array([1] * len(column)) if pa.types.is_string(column.type) else column.cast(pa.string())
        for column in table.columns
    ]
    parquet.write_table(pa.table(columns, names=table.column_names), file)


def damage(file, change):
    """Change a file; Hadoop's checksum beside it is not there, as in a copy."""
    change(file)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def words(home, day, out, *more):
    flows = [
        each | {"window_start": each["window_start"].replace(day=day)} for each in demo_flows()
    ]
    path = write_flows(home / f"flows-{day}", flows)
    write_snapshot(cluster(groups=[DEMO_READERS], size=GIB), home / "demo.json.gz")
    given = [home / "demo.json.gz", "--out", out, "--flows", path, "--flow-format", "canonical"]
    return ["analyze", *given, "--levels", "region,zone", "--no-plans", *more]


def check_rejected(command, out, message, file):
    """Law: exit code 1, one line with the name of the file, and the result is as before."""
    before = read_published(out) if out.exists() else None
    code, text, err = called(*command)
    assert (code, text) == (1, ""), err
    *_, error, hint = err.splitlines()
    assert error.startswith(f"error: {message}"), err
    assert file.name in error
    assert hint.startswith("hint: ")
    assert "\tat " not in err
    assert "Traceback" not in err
    assert (read_published(out) if out.exists() and before else None) == before


@pytest.fixture(scope="module")
def first_day(spark, tmp_path_factory):
    """A folder with the result of one day."""
    assert spark.version
    home = tmp_path_factory.mktemp("bills")
    code, _, err = called(*words(home, 1, home / "first"))
    assert code == 0, err
    return home


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cross_rack", bad_pages),
        ("cross_rack", empty),
        *(long("cross_rack", each) for each in (cut, other_types)),
        long("price", cut),
    ],
)
def test_a_table_of_an_earlier_day(first_day, name, change):
    out = first_day / f"bill {{1}} {name} {change.__name__}"
    shutil.copytree(first_day / "first", out, symlinks=True)
    file = min((out / read_published(out).tables / "gold" / name).rglob("*.parquet"))
    damage(file, change)
    check_rejected(words(first_day, 2, out), out, TABLE, file)


def test_a_table_of_an_earlier_day_that_is_gone(first_day):
    out = first_day / "gone"
    shutil.copytree(first_day / "first", out, symlinks=True)
    folder = out / read_published(out).tables / "gold" / "cross_rack"
    shutil.rmtree(folder)
    check_rejected(words(first_day, 2, out), out, TABLE, folder)


@pytest.mark.usefixtures("first_day")
@pytest.mark.parametrize("change", [long(bad_pages), cut])
def test_flows_whose_rows_spark_keeps(tmp_path, change):
    command = words(tmp_path, 1, tmp_path / "out", "--keep", "bronze")
    file = tmp_path / "flows-1" / "flows.parquet"
    damage(file, change)
    check_rejected(command, tmp_path / "out", FLOWS, file)


@pytest.mark.usefixtures("first_day")
def test_flows_of_two_files_whose_types_differ_name_both(tmp_path):
    command = words(tmp_path, 1, tmp_path / "out")
    file = tmp_path / "flows-1" / "flows.parquet"
    shutil.copy(file, file.with_name("more.parquet"))
    command[command.index("--flows") + 1] = file.parent
    damage(file, other_types)
    message = "expected Parquet files whose columns agree, got cluster as bigint in "
    check_rejected(command, tmp_path / "out", message, file)


@pytest.mark.usefixtures("first_day")
@pytest.mark.parametrize("change", [*map(long, (bad_pages, cut, empty)), other_types])
def test_a_bill_of_the_provider(tmp_path, change):
    file = parquet_report(tmp_path / "bill.parquet", [line(), line(day="2026-11-02")])
    damage(file, change)
    command = words(tmp_path, 1, tmp_path / "out", "--billed", file)
    check_rejected(command, tmp_path / "out", "invalid bill ", file)
