"""Partitions of keys, and sizes of records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.partitioner import murmur2, partition_for_key, record_bytes


@given(st.binary(max_size=64), st.integers(1, 1000))
def test_a_key_goes_to_a_partition_that_exists(key, count):
    assert -(2**31) <= murmur2(key) < 2**31
    assert partition_for_key(key, count) == (murmur2(key) & 0x7FFFFFFF) % count


@pytest.mark.parametrize(
    ("key", "value", "headers", "size"),
    [(None, None, 0, 12), (b"k", b"vv", 0, 15), (None, b"v" * 100, 0, 112), (b"", None, 5, 17)],
)
def test_a_record_counts_its_parts_plus_12_bytes(key, value, headers, size):
    assert record_bytes(key, value, headers) == size
