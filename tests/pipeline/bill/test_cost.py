"""Traffic to dollars: levels, prices, exact money, roll-ups."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from billed_rows import billed, rows_of
from rackwise.core.errors import InvalidPrices
from rackwise.core.traffic import usd_nano
from rackwise.pipeline.bill.exact import usd_nanos
from small_fleets import CENT, DAY, DAY_NUMBER, GIB, price

MONEY = [
    (26, 2 * CENT, 2**30, 0),
    (27, 2 * CENT, 2**30, 1),
    (53_687_091, 2 * CENT, 2**30, 1_000_000),
    (2**30, 2 * CENT, 2**30, 20_000_000),
    (543_581_798_400_000, 2 * CENT, 2**30, 10_125_000_000_000),
    (10**9, CENT, 10**9, 10_000_000),
    (9 * 10**17, 2 * CENT, 2**30, 16_763_806_343_078_613),
]


class TestMoney:
    def nanos(self, rows):
        columns = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
        return usd_nanos(*columns).tolist()

    def test_vectors(self):
        assert self.nanos([row[:3] for row in MONEY]) == [row[3] for row in MONEY]

    @settings(max_examples=200)
    @given(
        st.lists(
            st.tuples(
                st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 10**15)),
                st.one_of(st.integers(0, 10**4), st.integers(0, 10**10)),
                st.sampled_from([10**9, 2**30, 1, 7]),
            ).filter(lambda row: usd_nano(*row) < 10**18),
            min_size=1,
            max_size=30,
        )
    )
    def test_it_equals_the_function_of_core(self, rows):
        assert self.nanos(rows) == [usd_nano(*row) for row in rows]

    def test_a_large_price_of_few_bytes(self):
        rows = [(10**7, 9_999_999 * 10**9, 10**9), (1, 9_999_999 * 10**9, 1)]
        assert self.nanos(rows) == [usd_nano(*row) for row in rows]

    @pytest.mark.parametrize("row", [(2**63 - 1, 10**10, 1), (10**18, 10**9, 10**9)])
    def test_a_billion_dollars_of_one_row_are_rejected(self, row):
        with pytest.raises(InvalidPrices, match="expected less than 1000000000 dollars"):
            self.nanos([row])


class TestLevels:
    def test_distance_sets_the_price(self):
        rows = [
            {"from": "/eu/a/r1", "to": to, "bytes": GIB}
            for to in ("/eu/a/r2", "/eu/b/r1", "/us/a/r1", "/eu/a/r1", "/eu/a", None)
        ]
        prices = [
            price(),
            price(level="region", nano_usd_per_gb_out=5 * CENT, nano_usd_per_gb_in=0),
            price(level="rack", nano_usd_per_gb_out=0, nano_usd_per_gb_in=0),
        ]
        found = {
            row.to_rack: (row.level, row.level_name, row.usd, row.quality)
            for row in rows_of(billed(rows, prices=prices))
        }
        assert found == {
            "/eu/a/r2": (3, "rack", Decimal(0), "measured"),
            "/eu/b/r1": (2, "zone", Decimal("0.02"), "measured"),
            "/us/a/r1": (1, "region", Decimal("0.05"), "measured"),
            "/eu/a/r1": (0, "local", Decimal(0), "measured"),
            "/eu/a": (0, "local", Decimal(0), "estimated"),
            "(unknown)": (-1, "unknown", None, "measured"),
        }

    def test_a_level_without_a_row_is_unpriced_and_not_free(self):
        rows = [
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB},
            {"from": "/eu/a", "to": "/us/a", "bytes": GIB},
        ]
        found = {row.to_rack: row for row in rows_of(billed(rows))}
        assert (found["/eu/b"].usd_out, found["/eu/b"].usd_in) == (Decimal("0.01"),) * 2
        assert found["/eu/b"].price_row == price().row
        away = found["/us/a"]
        assert (away.usd, away.usd_out, away.usd_in, away.price_row) == (None,) * 4

    def test_an_unknown_rack_costs_up_to_the_highest_price_of_the_run(self):
        rows = [
            {"from": "/eu/a", "to": None, "bytes": GIB},
            {"from": None, "to": "/eu/b", "bytes": GIB},
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB},
            {"from": "/eu/a", "to": "/eu/a", "bytes": GIB},
        ]
        prices = [price(), price(region="us", nano_usd_per_gb_out=4 * CENT)]

        def highs(rows, prices):
            return {
                (row.from_rack, row.to_rack): (row.usd, row.usd_high, row.price_row)
                for row in rows_of(billed(rows, prices=prices))
            }

        row_, free = prices[0].row, (Decimal(0), Decimal(0), None)
        assert highs(rows, prices) == {
            ("/eu/a", "(unknown)"): (None, Decimal("0.02"), None),
            ("(unknown)", "/eu/b"): (None, Decimal("0.02"), None),
            ("/eu/a", "/eu/b"): (Decimal("0.02"), Decimal("0.02"), row_),
            ("/eu/a", "/eu/a"): free,
        }
        american = [*rows, {"from": "/us/a", "to": "/us/a", "bytes": GIB}]
        prices += [price(level="region", nano_usd_per_gb_out=5 * CENT)]
        found = highs(american, prices)
        assert found["/eu/a", "(unknown)"][1] == Decimal("0.06")
        assert found["(unknown)", "/eu/b"][1] == Decimal("0.06")
        assert highs(american, prices[:2])["/eu/a", "(unknown)"][1] is None

    def test_the_region_is_the_senders(self):
        rows = [
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB},
            {"from": "/us/a", "to": "/us/b", "bytes": GIB},
        ]
        prices = [price(), price(region="us", nano_usd_per_gb_out=4 * CENT)]
        found = {row.from_rack: row.usd for row in rows_of(billed(rows, prices=prices))}
        assert found == {"/eu/a": Decimal("0.02"), "/us/a": Decimal("0.05")}
        found = rows_of(billed(rows, prices=prices, levels=("area", "zone")))
        assert {row.usd for row in found} == {Decimal("0.02")}

    def test_a_sender_without_region_has_the_price_for_any_region(self):
        levels = ("planet", "region", "zone")
        rows = [
            {"from": "/mars", "to": "/earth/eu/a", "bytes": GIB},
            {"from": "/earth/eu/a", "to": "/mars", "bytes": GIB},
        ]
        prices = [price(level="planet"), price(region="eu", level="*", nano_usd_per_gb_out=0)]
        found = rows_of(billed(rows, prices=prices, levels=levels))
        assert {row.from_rack: row.usd for row in found} == {
            "/mars": Decimal("0.02"),
            "/earth/eu/a": Decimal("0.01"),
        }

    def test_plain_names_are_one_level(self):
        rows = [{"from": "use1-az1", "to": "use1-az2", "bytes": GIB}]
        (row,) = rows_of(billed(rows, levels=("zone",)))
        assert (row.level, row.level_name, row.usd) == (1, "zone", Decimal("0.02"))

    def test_the_price_of_each_day(self):
        later = DAY_NUMBER + 1
        rows = [
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB},
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB, "day": later},
        ]
        turn = date(2026, 11, 2)
        prices = [
            price(valid_to=turn),
            price(valid_from=turn, nano_usd_per_gb_in=0),
        ]
        found = rows_of(billed(rows, prices=prices, days=[DAY, turn]))
        assert {row.day: row.usd for row in found} == {DAY: Decimal("0.02"), turn: Decimal("0.01")}

    def test_a_day_without_a_price_is_rejected(self):
        rows = [{"from": "/eu/a", "to": "/eu/b", "bytes": GIB}]
        with pytest.raises(InvalidPrices, match="no price for level zone on 2026-11-01"):
            billed(rows, prices=[price(valid_to=date(2026, 6, 1))])
