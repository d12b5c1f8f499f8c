"""Headers of record batches: what they take, what the log cleaner leaves, hostile bytes."""

from __future__ import annotations

import struct
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_wire import refused_at
from rackwise.core.errors import RemoteProtocolError
from rackwise.core.wire.batches import read_batch_spans, whole_tail
from record_batches import HEADER, batch, neighbours


@given(st.lists(st.integers(1, 20), max_size=6), st.integers(0, 2**40))
def test_spans_are_those_that_were_written(sizes, first):
    made, base = neighbours(sizes, first), first + sum(sizes)
    data = b"".join(made)
    found = read_batch_spans(data)
    assert [each.bytes for each in found] == list(map(len, made))
    assert [each.next_offset - each.base_offset for each in found] == sizes
    assert all(each.is_whole for each in found)
    tail = whole_tail(found)
    assert sum(each.bytes for each in tail) == len(data)
    assert sum(each.next_offset - each.base_offset for each in tail) == base - first


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.data())
def test_a_batch_that_is_cut_off_is_left_out(sizes, data):
    made = neighbours(sizes)
    whole = b"".join(made)
    cut = data.draw(st.integers(0, len(whole)))
    found = read_batch_spans(whole[:cut])
    ends = [sum(map(len, made[: number + 1])) for number in range(len(made))]
    assert len(found) == sum(end <= cut for end in ends)
    assert found == read_batch_spans(whole)[: len(found)]


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_refused_or_read(data):
    check(data)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_bytes_that_somebody_changed_are_refused_or_read(sizes, data):
    made = bytearray(b"".join(neighbours(sizes)))
    for _ in range(data.draw(st.integers(1, 4))):
        made[data.draw(st.integers(0, len(made) - 1))] = data.draw(st.integers(0, 255))
    check(bytes(made[: data.draw(st.integers(0, len(made)))]))


def check(data):
    """Law: whatever was sent, spans ascend, take at least their header, and fit into the bytes."""
    offset = refused_at(data, read_batch_spans)
    if offset is not None:
        assert 0 <= offset <= len(data)
        return
    found = read_batch_spans(data)
    assert sum(each.bytes for each in found) <= len(data)
    least = 0
    for each in found:
        assert least <= each.base_offset < each.next_offset < 2**63
        assert each.bytes >= HEADER.size
        least = each.next_offset
    tail = whole_tail(found)
    assert list(tail) == found[len(found) - len(tail) :]
    assert all(each.is_whole for each in tail)
    assert sum(each.next_offset - each.base_offset for each in tail) == (
        tail[-1].next_offset - tail[0].base_offset if tail else 0
    )


@pytest.mark.parametrize(
    ("change", "offset", "wanted"),
    [
        (partial(struct.pack_into, ">b"), 16, "magic 2"),
        (partial(struct.pack_into, ">i"), 8, "a length from 49 on"),
        (partial(struct.pack_into, ">q"), 0, "a base offset from 0 on"),
        (partial(struct.pack_into, ">i"), 23, "a last offset delta from 0 on"),
        (partial(struct.pack_into, ">i"), 57, "a number of records from 0 to 3"),
    ],
)
def test_a_field_that_cannot_be_is_named(change, offset, wanted):
    made = bytearray(batch())
    change(made, offset, -1)
    with pytest.raises(RemoteProtocolError) as caught:
        read_batch_spans(bytes(made))
    assert (caught.value.offset, caught.value.wanted) == (offset, wanted)


def test_offsets_that_go_back_or_beyond_64_bits_are_refused():
    with pytest.raises(RemoteProtocolError, match="expected a base offset from 3 on, got 2"):
        read_batch_spans(batch(0) + batch(2))
    with pytest.raises(RemoteProtocolError, match="base offset"):
        read_batch_spans(batch(2**63 - 2))
    with pytest.raises(RemoteProtocolError, match="a number of records from 0 to 2, got 3"):
        read_batch_spans(batch(delta=1))


class TestWhatTheCleanerLeaves:
    """`RecordBatch`: "lastOffset ... is always the same as in the original batch"."""

    def tail(self, *batches):
        return whole_tail(read_batch_spans(b"".join(batches)))

    def test_the_example_of_the_essay(self):
        found = self.tail(
            batch(400, 10),
            batch(430, 2, delta=4),
            batch(435, 1, is_marker=True),
            batch(436, 10),
        )
        assert [(each.base_offset, each.next_offset) for each in found] == [(435, 436), (436, 446)]

    def test_a_gap_ends_the_tail(self):
        assert [each.base_offset for each in self.tail(batch(0), batch(7), batch(10))] == [7, 10]

    def test_a_last_batch_that_lost_records_has_no_tail(self):
        assert list(self.tail(batch(0), batch(3, 2, delta=5))) == []
        assert list(self.tail(batch(0), batch(3, 0, delta=5))) == []
        assert list(self.tail()) == []
