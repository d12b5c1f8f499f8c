"""Partitions that are read as columns of integers: the cluster and the errors of the parser."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rackwise.adapters.files import parse_snapshot, snapshot_bytes
from rackwise.adapters.files.snapshot import read, written_rows
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
TOKEN = re.compile(rb'"[^"]*"|[0-9]+|null|[^"0-9n]')
PIECES = [
    *[b"", b" ", b"\n", b"\t", b"\0", b",", b":", b"[", b"]", b"{", b"}", b'"', b"\\", b"-", b"u"],
    *[b"0", b"1", b"00", b"01", b"-0", b"-1", b"1.0", b"1e0", b"null", b"true", b"nul", b'"1"'],
    *[b"300", b"2147483647", b"2147483648", b"9223372036854775807", b"9223372036854775808"],
    *[b"18446744073709551615", b"18446744073709551616", b"99999999999999999999", b"9" * 400],
    *[b"[]", b"[1,1]", b"[null]", b"[1,]", b"{}", b'"bytes":5,', b'"adding":[],', b'"rows 0"'],
    *[b'"partitions":["rows 0"]', b'"partitions":[{"adding":[]}]', b"\xff", b"\xc3\xbc"],
]


def found(data):
    """The cluster, or all that is said of the error."""
    try:
        return parse_snapshot(data, where="s.json")
    except InvalidSnapshot as error:
        return (error.message, error.wanted, error.had, error.hint, error.where)


def check(data):
    """The parser finds the same."""
    taken = found(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "written_rows", lambda _: None)
        assert taken == found(data)


@pytest.mark.parametrize("data", FILES)
def test_what_is_written_is_read_without_a_parser(data, monkeypatch):
    monkeypatch.setattr(RowTaker, "hook", lambda _: pytest.fail("parsed"))
    assert snapshot_bytes(parse_snapshot(data, where="s.json")) == data


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


@given(st.data())
def test_any_edit(data):
    text = data.draw(st.sampled_from(FILES))
    for _ in range(data.draw(st.integers(1, 3))):
        places = [match.start() for match in TOKEN.finditer(text)] or [0]
        at = data.draw(st.sampled_from(places))
        edit = data.draw(st.sampled_from(["flip", "put", "cut", "swap", "double"]))
        if edit == "flip":
            at = data.draw(st.integers(0, max(len(text) - 1, 0)))
            text = text[:at] + bytes([data.draw(st.integers(0, 255))]) + text[at + 1 :]
        elif edit == "put":
            size = data.draw(st.sampled_from([0, 1, 4]))
            text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[at + size :]
        else:
            after = [place for place in places if place > at][:12] or [len(text)]
            end = data.draw(st.sampled_from(after))
            last = data.draw(st.sampled_from([each for each in after if each >= end]))
            first, second = text[at:end], text[end:last]
            middle = {"cut": second, "swap": second + first, "double": first + first + second}
            text = text[:at] + middle[edit] + text[last:]
    check(text)


@given(clusters())
@example(CLUSTER)
@example(OFFSETS)
def test_any_cluster(value):
    check(snapshot_bytes(value))
