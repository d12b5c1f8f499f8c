"""Columns of integers: exact sums and shares, whatever their size."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from rackwise.core.savings.traffic.columns import (
    LIMIT,
    Lists,
    apportion_rows,
    exact_dtype,
    exact_sum,
    packed,
    run_starts,
    run_sums,
)
from rackwise.core.traffic import apportion


def int64(*values):
    return np.array(values, dtype=np.int64)


class TestExact:
    @pytest.mark.parametrize(
        "values",
        [[], [0], [2**63 - 1] * 5, [2**32 - 1, 2**32, 1], [2**90, 1, 2**64]],
    )
    def test_a_sum_that_does_not_fit_is_exact(self, values):
        is_large = any(value >= 2**63 for value in values)
        column = np.array(values, dtype=object if is_large else np.int64)
        assert exact_sum(column) == sum(values)

    def test_columns_of_what_may_reach_the_limit_have_integers_of_python(self):
        assert exact_dtype(LIMIT - 1) is np.int64
        assert exact_dtype(LIMIT) is object


class TestPacked:
    def test_codes_have_the_order_of_the_rows(self):
        rng = Random(3)
        rows = [(rng.randrange(4), rng.randrange(3), rng.randrange(5)) for _ in range(99)]
        codes = packed([int64(*column) for column in zip(*rows, strict=True)], (4, 3, 5))
        order = np.argsort(codes, kind="stable").tolist()
        assert order == sorted(range(99), key=lambda at: (rows[at], at))
        assert len(set(codes.tolist())) == len(set(rows))

    def test_columns_too_large_for_one_code_are_numbered_first(self):
        rows = [(2**40, 2**40, 1), (0, 2**40, 2**20), (2**40, 0, 0), (2**40, 2**40, 1)]
        columns = [int64(*column) for column in zip(*rows, strict=True)]
        codes = packed(columns, (2**41, 2**41, 2**21)).tolist()
        assert codes[1] < codes[2] < codes[0] == codes[3]

    def test_codes_of_32_bits_do_not_overflow(self):
        first, second = (np.array([2**bits - 1], dtype=np.int32) for bits in (31, 30))
        assert packed([first, second], (2**31, 2**30)).tolist() == [2**61 - 1]


class TestRuns:
    def test_sums_of_runs(self):
        starts = run_starts(int64(3, 3, 1, 2, 2))
        assert starts.tolist() == [0, 2, 3]
        assert run_sums(int64(1, 2, 4, 8, 16), starts).tolist() == [3, 4, 24]

    def test_no_rows_have_no_runs(self):
        starts = run_starts(int64())
        assert (starts.tolist(), run_sums(int64(), starts).tolist()) == ([], [])

    def test_lists_are_expanded_row_by_row(self):
        row, entry = Lists.of([2, 0, 1]).of_rows(int64(2, 0, 1, 2)).expanded()
        assert (row.tolist(), entry.tolist()) == ([0, 1, 1, 3], [2, 0, 1, 2])


def some_weights(rng, most):
    weights = [rng.choice([0, 1, rng.randint(0, most)]) for _ in range(rng.randint(1, 6))]
    return weights if any(weights) else [1, *weights]


class TestApportion:
    @pytest.mark.parametrize("most_weight", [3, 2**20, 2**30, 2**31, 2**53])
    @pytest.mark.parametrize("most_total", [9, 2**40, 2**62 - 1, 2**90])
    def test_shares_equal_those_of_one_total_after_another(self, most_total, most_weight):
        rng = Random(most_total + most_weight)
        lists = [some_weights(rng, most_weight) for _ in range(300)]
        totals = [rng.choice([0, 1, most_total, rng.randint(0, most_total)]) for _ in lists]
        dtype = object if most_total > LIMIT else np.int64
        shares = apportion_rows(
            np.array(totals, dtype=dtype),
            int64(*map(len, lists)),
            int64(*(weight for weights in lists for weight in weights)),
        )
        wanted = [apportion(*pair) for pair in zip(totals, lists, strict=True)]
        assert shares.tolist() == [share for each in wanted for share in each]

    def test_shares_in_parts_of_a_float_use_each_byte(self):
        shares = apportion_rows(int64(2**62 - 1), int64(3), int64(2**53 // 3, 2**53 // 3, 2**53))
        assert shares.tolist() == list(apportion(2**62 - 1, (2**53 // 3, 2**53 // 3, 2**53)))

    def test_one_weight_gets_everything(self):
        assert apportion_rows(int64(7, 0), int64(1, 1), int64(3, 5)).tolist() == [7, 0]
        assert apportion_rows(int64(), int64(), int64()).tolist() == []
