"""Partitions that are read as columns of integers: the cluster and the errors of the parser."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from file_edits import check_without, edited, read_or_error
from rackwise.adapters.files import fingerprint, parse_snapshot, read_fingerprinted, snapshot_bytes
from rackwise.adapters.files.snapshot import read, write, written_rows
from rackwise.adapters.files.snapshot.partitions import RowTaker
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.model import (
    Broker,
    Cluster,
    Configs,
    Group,
    Note,
    Partition,
    PartitionTable,
    Topic,
)
from rackwise.core.racks import Rack
from strategies import clusters

ROWS = [
    Partition(topic="a", partition=0, replicas=(1, 20, 300), leader=1, isr=(1, 20, 300), bytes=5),
    Partition(topic="a", partition=1, replicas=(20, 1), leader=1, isr=(1,), bytes=10**12),
    Partition(topic="b", partition=0, replicas=(7,), bytes_in_per_s=0),
    Partition(topic="b", partition=1, replicas=(300, 20), adding=(300,), removing=(20,), isr=(20,)),
    Partition(topic="rows 0", partition=0, replicas=(2**31 - 1,), leader=2**31 - 1),
]
CLUSTER = Cluster(
    cluster_id="c",
    taken_at="2026-11-21T08:30:00Z",
    brokers=(Broker(id=1, rack=Rack("/a")),),
    topics={name: Topic(name=name) for name in ("a", "b", "empty", "rows 0")},
    partitions=PartitionTable.of(ROWS),
    groups=(Group(group="g", protocol="classic", committed={"partitions": (1, None)}),),
    configs=Configs(topics={"partitions": {"k": "v"}}),
    notes=(Note(kind="n", text='"partitions":[{"adding":[]}]'),),
)
OFFSETS = replace(
    CLUSTER,
    partitions=PartitionTable.of(
        replace(row, start_offset=3, end_offset=2**63 - 1, leader_epoch=None) for row in ROWS
    ),
)
NAMED = [snapshot_bytes(each) for each in (CLUSTER, OFFSETS)]
FILES = [data.replace(b'"rows 0"', b'"z"').replace(b'"rows 0', b'"z') for data in NAMED]
"""The mark is in no name, so that the rows are read as columns."""
OFFSETS_NULL = (
    FILES[1]
    .replace(b'"start_offset":3', b'"start_offset":null')
    .replace(b'"end_offset":9223372036854775807', b'"end_offset":null')
)


def found(data):
    """The cluster, or all that is said of the error."""
    return read_or_error(parse_snapshot, data, InvalidSnapshot)


def check(data):
    """The parser finds the same, and a fingerprint that is made of the text is the cluster's."""
    taken = found(data)
    if isinstance(taken, Cluster):
        written = read._written_cluster(data)
        assert written is None or fingerprint(*written) == fingerprint(taken)
    check_without(read, "written_rows", lambda: found(data))


@pytest.mark.parametrize("data", FILES)
def test_what_is_written_is_read_without_a_parser(data, monkeypatch):
    monkeypatch.setattr(RowTaker, "hook", lambda _: pytest.fail("parsed"))
    assert snapshot_bytes(parse_snapshot(data, where="s.json")) == data


@pytest.mark.parametrize("name", ["s.json", "spaced.json"])
def test_the_fingerprint_of_a_file(tmp_path, name):
    for data in FILES:
        text = data.replace(b'"partitions":[{', b'"partitions": [{') if "spaced" in name else data
        (tmp_path / name).write_bytes(text)
        read_cluster, sha256 = read_fingerprinted(tmp_path / name)
        assert read_cluster == found(data)
        assert sha256 == fingerprint(read_cluster)


def test_a_file_that_is_not_a_snapshot_has_no_fingerprint(tmp_path):
    (tmp_path / "s.json").write_bytes(FILES[0].replace(b'"bytes":5', b'"bytes":-5'))
    with pytest.raises(InvalidSnapshot, match="got -5"):
        read_fingerprinted(tmp_path / "s.json")


@pytest.mark.parametrize("data", FILES)
def test_the_fingerprint_of_what_rackwise_wrote_needs_no_text_of_rows(data, monkeypatch):
    row_texts = read._written_cluster(data).row_texts
    monkeypatch.setattr(write, "texts_of", lambda _: pytest.fail("written"))
    assert fingerprint(parse_snapshot(data, where="s.json"), row_texts)


def test_offsets_that_are_all_null(tmp_path):
    """They are not written, so the text of the file is not that of the fingerprint."""
    data = OFFSETS_NULL
    assert read._written_cluster(data).row_texts is None
    (tmp_path / "s.json").write_bytes(data)
    whole, sha256 = read_fingerprinted(tmp_path / "s.json")
    assert sha256 == fingerprint(whole) == fingerprint(parse_snapshot(FILES[0], where="s.json"))


@pytest.mark.parametrize(("data", "value"), [(NAMED[0], CLUSTER), (NAMED[1], OFFSETS)])
def test_a_name_that_is_like_a_mark(data, value):
    assert written_rows.written_rows(data) is None
    assert found(data) == value


def test_batches(monkeypatch):
    monkeypatch.setattr(written_rows, "_BATCH", 1)
    for data in FILES:
        assert written_rows.written_rows(data) is not None
        check(data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"committed":{"partitions":[1,null]}', b'"committed":{"partitions":[{"adding":[]}]}'),
        (b'"partitions":[]', b'"partitions":["rows 0"]'),
        (b'"groups":[', b'"groups":["partitions":[{"adding":[]}],'),
        (b'"replicas":[7]', b'"replicas":[null]'),
        (b'"replicas":[7]', b'"replicas":[9223372036854775815]'),
        (b'"leader":1,', b'"leader":,'),
        (b'"leader":1,', b'"leader":1,1,'),
        (b'"bytes":5', b'"by5tes":'),
        (b'"bytes":5', b'"bytes":18446744073709551621'),
        (b'"isr":[1,20,300]', b'"isr":[20,1,300]'),
        (b'"isr":[1,20,300]', b'"isr":[1,20,9]'),
        (b'"isr":[1,20,300],"leader":1', b'"isr":[1,20,300],"leader":7'),
        (b'"replicas":[1,20,300]', b'"replicas":[1,20,1]'),
        (b'"isr":[1,20,300],"leader":1,"removing":[],"replicas":[1,20,300]',
         b'"isr":[1,1],"leader":1,"removing":[],"replicas":[1,1]'),
        (b'"isr":[1,20,300],"leader":1,"removing":[],"replicas":[1,20,300]',
         b'"isr":[],"leader":20,"removing":[],"replicas":[]'),
    ],
)  # fmt: skip
def test_an_edited_file(old, new):
    assert old in FILES[0]
    for data in FILES:
        check(data.replace(old, new, 1))


@given(st.sampled_from(FILES).flatmap(edited))
def test_any_edit(data):
    check(data)


@given(clusters())
@example(CLUSTER)
@example(OFFSETS)
def test_any_cluster(value):
    check(snapshot_bytes(value))
