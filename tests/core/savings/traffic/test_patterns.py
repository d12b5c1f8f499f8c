"""Patterns as columns, and the partitions that bytes can belong to."""

from __future__ import annotations

import numpy as np
import pytest

from rackwise.core.savings.traffic.chunks import NO_RACK
from rackwise.core.savings.traffic.patterns import PAD, PatternFinder, PatternRacks

A, B, C, D = range(4)
ROWS = [(A, B), (B, A, C), (A, C), (NO_RACK, B), (B, B)]


def codes(*values):
    return np.array(values, dtype=np.int64)


class TestFinder:
    @pytest.mark.parametrize(
        ("kind", "near", "far", "wanted"),
        [
            ("produce", A, B, [(0, 0), (2, 0)]),
            ("produce", C, B, []),
            ("replicate", A, B, [(0, 1)]),
            ("replicate", B, C, [(1, 2)]),
            ("replicate", B, B, [(4, 1)]),
            ("fetch", A, B, [(0, 0), (2, 0)]),
            ("fetch", C, A, [(1, 0), (2, 0)]),
            ("fetch", D, A, []),
            ("other", A, B, []),
            ("fetch", A, NO_RACK, []),
            ("produce", NO_RACK, A, []),
        ],
    )
    def test_partitions_that_explain_bytes(self, kind, near, far, wanted):
        assert [*PatternFinder(ROWS, follows=False).of(kind, near, far)] == wanted

    @pytest.mark.parametrize(
        ("near", "far", "wanted"),
        [(A, B, [(2, 0)]), (A, D, [(0, 0), (2, 0)]), (C, C, [(1, 0), (2, 0)]), (D, A, [])],
    )
    def test_a_client_that_reads_followers_reads_a_leader_if_it_has_no_replica(
        self, near, far, wanted
    ):
        assert [*PatternFinder(ROWS, follows=True).of("fetch", near, far)] == wanted


class TestRacks:
    def test_rows_are_padded(self):
        table = PatternRacks.of(ROWS)
        assert (table.width, table.lengths.tolist()) == (3, [2, 3, 2, 2, 2])
        assert table.racks[3].tolist() == [NO_RACK, B, PAD]

    def test_a_client_reads_in_its_rack_or_from_the_leader(self):
        table = PatternRacks.of(ROWS)
        assert table.nearest(codes(0, 0, 1, 3), codes(B, C, C, D)).tolist() == [B, A, C, NO_RACK]

    def test_no_patterns(self):
        table = PatternRacks.of([])
        assert (table.width, len(table.racks)) == (1, 0)
