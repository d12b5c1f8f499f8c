"""Small numbers packed into longs in numpy, and unpacked by Spark."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def named(values):
    return {f"f{place}": value for place, value in enumerate(values)}


def arrays(rows):
    return named(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))


def test_fields_are_packed_into_one_long():
    from rackwise.pipeline.columns.packing import packed_arrays

    keys = packed_arrays(arrays([(3, 2, 1, 1, 2)]), named((16, 12, 2, 3, 3)))
    assert {name: key.tolist() for name, key in keys.items()} == {"key1": [3146314]}


def test_more_than_63_bits_need_several_longs():
    from rackwise.pipeline.columns.packing import key_names

    assert key_names(named((16, 31, 16))) == ("key1",)
    assert key_names(named((16, 31, 17))) == ("key1", "key2")
    assert key_names(named((40, 40, 40))) == ("key1", "key2", "key3")


@pytest.mark.spark
@settings(max_examples=15)
@given(st.lists(st.integers(0, 31), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_unpacking_returns_the_packed_values(spark, widths, rng):
    from rackwise.pipeline.columns.packing import packed_arrays, unpacked

    values = [rng.choice([0, (1 << width) - 1, rng.getrandbits(width)]) for width in widths]
    bits = named(widths)
    keys = {name: int(key[0]) for name, key in packed_arrays(arrays([values]), bits).items()}
    row = spark.createDataFrame(
        [tuple(keys.values())], ", ".join(f"{name} bigint" for name in keys)
    )
    assert row.select(*unpacked(bits).values()).collect() == [tuple(values)]
    assert len(keys) == 1 or sum(widths) > 63
