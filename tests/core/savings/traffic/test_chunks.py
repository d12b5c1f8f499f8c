"""Traffic in chunks: lanes stay together, each key stands once."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from rackwise.core.savings.model import UNATTRIBUTED
from rackwise.core.savings.traffic import chunks
from rackwise.core.savings.traffic.chunks import NO_RACK, Chunk, LanedFlows, Lanes, TrafficNames


def codes(*values):
    return np.array(values, dtype=np.int32)


def lanes(*kinds):
    zero = np.zeros(len(kinds), dtype=np.int32)
    return Lanes(
        kind=codes(*kinds), topic=zero, group=zero, day=zero, place=zero, places=(zero, zero)
    )


def flows(*lane):
    zero = np.zeros(len(lane), dtype=np.int32)
    return LanedFlows(codes(*lane), zero, zero, np.arange(len(lane)))


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        (99, [(0, [0, 0, 0, 1]), (1, [2, 3, 3])]),
        (3, [(0, [0, 0, 0]), (0, [1]), (1, [2, 3, 3])]),
        (1, [(0, [0, 0, 0]), (0, [1]), (1, [2]), (1, [3, 3])]),
    ],
)
def test_a_chunk_has_whole_lanes_of_one_kind(monkeypatch, size, wanted):
    monkeypatch.setattr(chunks, "CHUNK", size)
    found = [*flows(0, 0, 0, 1, 2, 3, 3).chunks(lanes(0, 0, 1, 1))]
    assert [(kind, part.lane.tolist()) for kind, part in found] == wanted
    assert np.concatenate([part.bytes for _, part in found]).tolist() == [*range(7)]
    assert [*flows().chunks(lanes())] == []


def test_equal_keys_are_added_up_in_order():
    keys = [(9, 1, NO_RACK, 4), (8, 2, 1, UNATTRIBUTED), (9, 1, NO_RACK, 4), (8, 2, 0, 7)]
    columns = [codes(*column) for column in zip(*keys, strict=True)]
    chunk = Chunk(3, *columns, np.array([1, 2, 4, 8]))
    for bytes_ in (chunk.bytes, chunk.bytes.astype(object) << 70):
        found = chunk._replace(bytes=bytes_).added_up()
        assert [*zip(*(column.tolist() for column in found[1:5]), strict=True)] == [
            (8, 2, 0, 7),
            (8, 2, 1, UNATTRIBUTED),
            (9, 1, NO_RACK, 4),
        ]
        assert found.bytes.tolist() == [bytes_[3], bytes_[1], bytes_[0] + bytes_[2]]
    joined = chunk.part(codes(1)).joined(chunk.part(codes(0, 1)), chunk.part(codes()))
    assert (joined.lane.tolist(), joined.bytes.tolist()) == ([8, 9], [4, 1])
    assert len(chunk.part(codes()).added_up().lane) == 0


def test_names():
    names = TrafficNames(
        days=(date(2026, 11, 1),), kinds=("fetch",), topics=(), groups=(), racks=("a", "b")
    )
    assert (names.kind("fetch"), names.kind("produce")) == (0, chunks.NO_KIND)
    assert (names.rack(1), names.rack(NO_RACK)) == ("b", None)
