"""The outcomes of all rows, and the checks that stop a publication."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import BytesLost, QuarantineExceeded
from rackwise.pipeline.ingest.row_outcomes import RowOutcomes, check_bytes

COUNTS = [
    ("b.parquet", "kept", 90, 1000),
    ("b.parquet", "malformed:bytes", 3, None),
    ("a.parquet", "malformed:bytes", 1, None),
    ("a.parquet", "malformed:end", 2, 7),
    ("a.parquet", "duplicate-side", 4, 60),
    ("a.parquet", "kept", 0, 0),
]


def outcomes(rows_in=100, bytes_in=1067):
    return RowOutcomes.of(COUNTS, rows_in=rows_in, bytes_in=bytes_in)


def test_reasons_and_files_are_summed():
    found = outcomes()
    assert found.by_reason == (
        ("kept", 90, 1000),
        ("duplicate-side", 4, 60),
        ("malformed:bytes", 4, None),
        ("malformed:end", 2, 7),
    )
    assert found.by_file == (("a.parquet", 7, 3), ("b.parquet", 93, 3))
    assert (found.bytes_kept, found.rows_quarantined) == (1000, 6)
    assert found.share_quarantined == Decimal("0.06")
    assert (found.rows_of("duplicate-side"), found.rows_of("skipdata")) == (4, 0)


@given(st.permutations(COUNTS))
def test_the_order_of_the_counts_does_not_matter(counts):
    assert RowOutcomes.of(counts, rows_in=100, bytes_in=1067) == outcomes()


def test_no_rows_have_no_quarantine():
    found = RowOutcomes()
    found.check_conserved()
    found.check_quarantine(Decimal(0))
    assert found.share_quarantined == 0


class TestQuarantine:
    def test_the_allowed_share_passes(self):
        outcomes().check_quarantine(Decimal("0.06"))

    def test_a_larger_share_is_rejected_with_the_reasons(self):
        with pytest.raises(
            QuarantineExceeded,
            match=r"expected a share of at most 0\.01 malformed rows, got 0\.060000 "
            r"\(6 of 100 rows: malformed:bytes 4, malformed:end 2\)",
        ) as caught:
            outcomes().check_quarantine(Decimal("0.01"))
        assert "or allow them with --max-quarantine 0.060000, which" in caught.value.hint

    def test_the_five_most_frequent_reasons_are_listed(self):
        counts = [("f", f"malformed:{name}", rows, None) for rows, name in enumerate("abcdefg", 1)]
        with pytest.raises(QuarantineExceeded) as caught:
            RowOutcomes.of(counts, rows_in=28, bytes_in=0).check_quarantine(Decimal("0.5"))
        listed = caught.value.message.rpartition("rows: ")[2]
        assert listed == (
            "malformed:g 7, malformed:f 6, malformed:e 5, malformed:d 4, malformed:c 3)"
        )

    def test_the_share_of_the_hint_passes(self):
        found = RowOutcomes.of([("f", "malformed:a", 1, None)], rows_in=3_000_000, bytes_in=0)
        with pytest.raises(QuarantineExceeded) as caught:
            found.check_quarantine(Decimal(0))
        share = caught.value.hint.partition("--max-quarantine ")[2].partition(",")[0]
        found.check_quarantine(Decimal(share))


class TestConserved:
    def test_equal_sums_pass(self):
        outcomes().check_conserved()
        outcomes().check_kept(90, 1000)
        check_bytes("cross_rack", {"a": 5, "b": 0}, {"a": 5})

    @pytest.mark.parametrize(
        ("rows_in", "bytes_in", "message"),
        [
            (
                101,
                1067,
                "expected 101 rows of all outcomes, got 100; nothing was published",
            ),
            (100, 1066, "expected 1066 bytes of all outcomes, got 1067; nothing"),
        ],
    )
    def test_a_lost_row_or_byte_is_an_error(self, rows_in, bytes_in, message):
        with pytest.raises(BytesLost, match=message) as caught:
            outcomes(rows_in, bytes_in).check_conserved()
        assert caught.value.hint.startswith("this is a fault of Rackwise")
        assert caught.value.exit_code == 4

    @pytest.mark.parametrize(("rows", "bytes_"), [(89, 1000), (90, 1001)])
    def test_written_rows_and_bytes_must_equal_the_kept_ones(self, rows, bytes_):
        with pytest.raises(BytesLost, match=r"expected \d+ (rows|bytes) of flow_fact, got"):
            outcomes().check_kept(rows, bytes_)

    @pytest.mark.parametrize("had", [{}, {"a": 4}, {"a": 5, "b": 1}])
    def test_different_bytes_of_a_key_are_an_error(self, had):
        with pytest.raises(BytesLost, match=r"expected \d bytes of cross_rack for [ab], got \d"):
            check_bytes("cross_rack", {"a": 5}, had)
