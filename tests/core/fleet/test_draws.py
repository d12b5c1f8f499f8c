"""Draws: raw words of PCG64 and integer arithmetic, the same everywhere."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.fleet.draws import Stream, log_uniform, pick, zipf_weights


class TestStream:
    def test_the_raw_words_of_a_key_never_change(self):
        assert Stream(7, 1, 2).raw(3).tolist() == [
            17026574657335685868,
            13288240067620958876,
            4913938538338547984,
        ]

    def test_equal_keys_give_equal_sequences(self):
        one, two, other = Stream(7, 1), Stream(7, 1), Stream(7, 2)
        assert one.raw(2).tolist() + one.raw(3).tolist() == two.raw(5).tolist()
        assert other.raw(5).tolist() != Stream(7, 1).raw(5).tolist()

    @given(st.integers(1, 2**31 - 1), st.integers(0, 2**63))
    def test_below_stays_below(self, bound, seed):
        drawn = Stream(seed).below(bound, 50)
        assert drawn.min() >= 0
        assert drawn.max() < bound

    def test_below_accepts_one_bound_per_draw(self):
        bounds = np.array([1, 2, 1000] * 1000)
        drawn = Stream(3).below(bounds)
        assert (drawn < bounds).all()
        assert set(drawn[1::3].tolist()) == {0, 1}
        assert drawn[2::3].max() > 990

    def test_the_number_of_hits_is_near_their_share(self):
        assert abs(int(Stream(1).hits(0.25, 40_000).sum()) - 10_000) < 400
        assert not Stream(1).hits(0.0, 1000).any()
        assert Stream(1).hits(1.0, 1000).all()

    def test_an_order_contains_each_index_once(self):
        order = Stream(5).order(1000)
        assert sorted(order.tolist()) == list(range(1000))
        assert order.tolist() != list(range(1000))

    def test_sizes_have_every_number_of_digits(self):
        sizes = Stream(5).sizes(3, 6, 4000)
        digits = [size.bit_length() for size in sizes.tolist()]
        assert set(digits) == {3, 4, 5, 6}
        assert all(900 < digits.count(d) < 1100 for d in (3, 4, 5, 6))
        assert {4, 5, 6, 7} == {size for size in sizes.tolist() if size < 8}


class TestTables:
    def test_zipf_is_scale_over_rank_to_the_power_of_eleven_tenths(self):
        weights = zipf_weights(4, scale=10**6)
        assert weights.tolist() == [1_000_000, 466_516, 298_652, 217_637]

    def test_the_last_of_many_still_has_a_weight(self):
        assert zipf_weights(100, scale=10).min() == 1

    def test_log_uniform_sizes_have_the_share_of_their_logarithm(self):
        sizes = log_uniform(512, Stream(9).raw(50_000))
        assert sizes.min() == 1
        assert sizes.max() == 512
        shares = np.bincount(sizes, minlength=513) / len(sizes)
        for size in (1, 2, 5):
            assert abs(shares[size] - np.log((size + 1) / size) / np.log(513)) < 0.01

    def test_the_smallest_and_the_largest_draw_of_a_size(self):
        draws = np.array([0, 2**64 - 1], dtype=np.uint64)
        assert log_uniform(8, draws).tolist() == [1, 8]

    def test_pick_returns_the_weight_that_the_draw_falls_on(self):
        cumulative = np.cumsum([3, 1, 2])
        assert pick(cumulative, np.arange(6)).tolist() == [0, 0, 0, 1, 2, 2]
