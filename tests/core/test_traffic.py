"""The choice of prices, exact dollars, and shares of bytes."""

from __future__ import annotations

from datetime import date
from decimal import Decimal, InvalidOperation

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidPrices, InvalidRates
from rackwise.core.traffic import (
    MONTH_S,
    Price,
    PriceChoice,
    RateRow,
    apportion,
    csv_line,
    exact_usd_text,
    highest_price,
    known_sum,
    named_levels,
    nano_of,
    per_month,
    price_of,
    prices_of,
    rates_of,
    usd_nano,
    usd_of,
)

DAY = date(2026, 11, 1)
CENT = 10_000_000


def row(**fields):
    given = {
        "provider": "aws",
        "region": "*",
        "level": "zone",
        "kind": "*",
        "nano_usd_per_gb_out": CENT,
        "nano_usd_per_gb_in": CENT,
        "gb_bytes": 2**30,
        "valid_from": date(2026, 1, 1),
        "valid_to": None,
        "source": "price list",
        "is_checked": True,
    } | fields
    text = ",".join(str(value) for value in given.values())
    return Price(**{"row": text} | given)


def chosen(prices, *, region=None, level="zone", kind="fetch", day=DAY):
    return price_of(prices, region=region, level=level, kind=kind, day=day)


@pytest.mark.parametrize(
    ("bytes_", "price", "gb", "nano"),
    [
        (26, 2 * CENT, 2**30, 0),
        (27, 2 * CENT, 2**30, 1),
        (53_687_091, 2 * CENT, 2**30, 1_000_000),
        (2**30, 2 * CENT, 2**30, 20_000_000),
        (543_581_798_400_000, 2 * CENT, 2**30, 10_125_000_000_000),
        (10**9, CENT, 10**9, 10_000_000),
        (9 * 10**17, 2 * CENT, 2**30, 16_763_806_343_078_613),
    ],
)
def test_dollars_are_exact(bytes_, price, gb, nano):
    assert usd_nano(bytes_, price, gb) == nano


@given(st.integers(0, 10**18), st.integers(0, 10**12), st.sampled_from([10**9, 2**30]))
def test_dollars_are_within_half_a_nano_dollar(bytes_, price, gb):
    nano = usd_nano(bytes_, price, gb)
    assert abs(2 * (nano * gb - bytes_ * price)) <= gb


@pytest.mark.parametrize(
    ("nano", "text"),
    [
        (0, "0.000000000"),
        (420_000_000, "0.420000000"),
        (-1, "-0.000000001"),
        (10**12, "1000.000000000"),
    ],
)
def test_dollars_have_nine_digits(nano, text):
    assert exact_usd_text(nano) == text


def test_one_day_is_scaled_to_thirty():
    assert per_month(420_000_000, 86_400) == 12_600_000_000


@given(st.integers(0, 10**15), st.integers(1, 10**7), st.integers(1, 5))
def test_scaling_is_linear(nano, seconds, times):
    assert abs(per_month(nano * times, seconds) - per_month(nano, seconds) * times) <= times
    assert per_month(nano, MONTH_S) == nano


@pytest.mark.parametrize(
    ("total", "weights", "shares"),
    [
        (100, (1, 1, 1), (34, 33, 33)),
        (7, (3, 3, 1), (3, 3, 1)),
        (1, (1, 1), (1, 0)),
        (10, (0, 5), (0, 10)),
    ],
)
def test_shares_follow_the_largest_remainder(total, weights, shares):
    assert apportion(total, weights) == shares


@given(st.integers(0, 10**18), st.lists(st.integers(0, 10**12), min_size=1).filter(any))
def test_shares_sum_to_the_total_and_differ_by_less_than_one(total, weights):
    shares = apportion(total, weights)
    whole = sum(weights)
    assert sum(shares) == total
    assert all(
        abs(share * whole - total * weight) < whole
        for share, weight in zip(shares, weights, strict=True)
    )


def test_zero_weights_are_rejected():
    with pytest.raises(
        InvalidRates, match="expected weights above 0 to apportion 5 bytes, got 2 that are 0"
    ):
        apportion(5, (0, 0))


class TestLevels:
    def test_one_level_needs_no_name(self):
        assert named_levels(1, ()) == ("zone",)
        assert named_levels(0, ()) == ("zone",)

    def test_names_are_used_coarsest_first(self):
        assert named_levels(2, ("region", "zone", "rack")) == ("region", "zone")
        assert named_levels(1, ("az",)) == ("az",)

    @pytest.mark.parametrize(("names", "had"), [((), "0"), (("region",), "1")])
    def test_several_levels_need_names(self, names, had):
        with pytest.raises(
            InvalidPrices, match=f"expected names of 2 rack levels .* got {had}"
        ) as caught:
            named_levels(2, names)
        assert caught.value.hint == "name them coarsest first, for example --levels region,zone"


class TestChoice:
    def test_region_beats_kind_beats_level(self):
        anything = row(level="*")
        zone = row()
        replicate = row(level="*", kind="replicate")
        here = row(region="eu-1", level="*")
        table = [anything, zone, replicate, here]
        assert chosen(table, level="rack").price is anything
        assert chosen(table).price is zone
        assert chosen(table, kind="replicate").price is replicate
        assert chosen(table, kind="replicate", region="eu-1").price is here

    def test_a_level_without_a_row_has_no_price(self):
        assert chosen([row()], level="region") is None

    def test_row_valid_on_the_day_is_used(self):
        old = row(valid_to=DAY)
        new = row(valid_from=DAY)
        assert chosen([old, new]) == PriceChoice(price=new, is_extrapolated=False)
        assert chosen([old, new], day=date(2026, 10, 31)).price is old

    def test_day_before_the_oldest_row_is_extrapolated(self):
        old = row(valid_to=DAY)
        choice = chosen([row(valid_from=DAY), old], day=date(2025, 1, 1))
        assert choice == PriceChoice(price=old, is_extrapolated=True)

    def test_general_row_covers_days_without_special_row(self):
        general = row()
        special = row(kind="fetch", valid_to=date(2026, 6, 1))
        assert chosen([general, special]).price is general

    @pytest.mark.parametrize("day", [DAY, date(2025, 1, 1)])
    def test_two_equally_specific_rows_are_rejected(self, day):
        table = [row(source="a", row="line 2"), row(source="b", row="line 3")]
        with pytest.raises(
            InvalidPrices,
            match=f"expected one price for level zone on {day}, got two .*: line 2 and line 3",
        ) as caught:
            chosen(table, day=day)
        assert "delete one" in caught.value.hint

    def test_day_after_the_last_row_is_rejected_with_a_line_to_add(self):
        with pytest.raises(
            InvalidPrices,
            match="no price for level zone on 2026-11-01: the row before ends",
        ) as caught:
            chosen([row(valid_to=date(2026, 6, 1), row="line 2")])
        assert caught.value.hint == (
            "add to the table of --prices: "
            "aws,*,zone,*,<out>,<in>,1073741824,2026-11-01,,<source>,true"
        )

    def test_gap_is_rejected_with_the_rows_around_it(self):
        table = [
            row(valid_to=date(2026, 6, 1), row="line 2"),
            row(valid_from=date(2027, 1, 1), row="line 3"),
            row(valid_from=date(2025, 1, 1), valid_to=date(2025, 6, 1), row="line 4"),
        ]
        with pytest.raises(
            InvalidPrices,
            match=r"ends 2026-06-01 \(line 2\), the next begins 2027-01-01 \(line 3\)",
        ):
            chosen(table)

    def test_rows_of_one_provider(self):
        aws, gcp = row(), row(provider="gcp")
        assert prices_of([aws, gcp], "gcp") == (gcp,)

    @pytest.mark.parametrize(("table", "had"), [([row()], "aws"), ([], "none")])
    def test_provider_without_rows_is_rejected(self, table, had):
        with pytest.raises(
            InvalidPrices, match=f'expected prices of provider "azure", got a table of {had}'
        ) as caught:
            prices_of(table, "azure")
        assert "--provider" in caught.value.hint

    def test_line_to_add_is_escaped(self):
        assert "\x1b" not in csv_line(row(region="\x1b[31m"), level="zone", day=DAY)


class TestRates:
    def test_rows_of_a_topic_are_combined(self):
        rates = rates_of(
            [
                RateRow(cluster="c", topic="t", bytes_in_per_s=5),
                RateRow(cluster="c", topic="t", client_group="g", bytes_out_per_s=7),
                RateRow(
                    cluster="c", topic="t", bytes_in_per_s=5, client_group="h", bytes_out_per_s=0
                ),
                RateRow(cluster="c", topic="t", client_group="no rate"),
            ]
        )
        assert rates.ins == {("c", "t"): 5}
        assert rates.outs == {("c", "t", "g"): 7, ("c", "t", "h"): 0}

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (
                [
                    RateRow(cluster="c", topic="t", bytes_in_per_s=5),
                    RateRow(cluster="c", topic="t", bytes_in_per_s=6),
                ],
                "expected one rate for topic t, got 5 and 6",
            ),
            (
                [
                    RateRow(cluster="c", topic="t", client_group="g", bytes_out_per_s=1),
                    RateRow(cluster="c", topic="t", client_group="g", bytes_out_per_s=2),
                ],
                "expected one rate for group g of topic t, got 1 and 2",
            ),
            (
                [RateRow(cluster="c", topic="t", bytes_in_per_s=-1)],
                "invalid rate of topic t: expected 0 to 1000000000000 bytes per second, got -1",
            ),
            (
                [RateRow(cluster="c", topic="t", bytes_in_per_s=10**12 + 1)],
                "expected 0 to 1000000000000 bytes per second, got 1000000000001",
            ),
        ],
    )
    def test_contradictions_are_rejected(self, rows, message):
        with pytest.raises(InvalidRates, match=message) as caught:
            rates_of(rows)
        assert caught.value.hint


class TestHighestPrice:
    def highest(self, prices, *, regions=(None,), levels=("region", "zone")):
        return highest_price(prices, regions=regions, levels=levels, kind="fetch", day=DAY)

    def test_it_is_the_dearest_level_and_region_per_byte(self):
        zone, region = row(), row(level="region", nano_usd_per_gb_out=5 * CENT)
        assert self.highest([zone, region]) == region
        assert self.highest([zone, region], levels=("zone",)) == zone
        dear = row(region="us", nano_usd_per_gb_out=9 * CENT)
        assert self.highest([zone, region, dear], regions=("eu", "us")) == dear
        assert self.highest([zone, region, dear], regions=("eu",)) == region

    def test_bytes_of_a_gb_count(self):
        small = row(gb_bytes=10**9, nano_usd_per_gb_in=CENT)
        large = row(level="region", nano_usd_per_gb_in=CENT + 1)
        assert self.highest([small, large]) == small

    def test_a_level_without_a_price_may_cost_anything(self):
        assert self.highest([row()]) is None
        assert self.highest([row()], levels=()) is None


numbers = st.lists(st.one_of(st.none(), st.integers(-3, 3)), max_size=5)


@given(numbers, st.booleans())
def test_a_known_sum_is_exact_and_0_only_if_everything_is_known(values, is_whole):
    found = known_sum(values, is_whole=is_whole)
    known = [value for value in values if value is not None]
    if found is None:
        assert not known or (sum(known) == 0 and not (is_whole and known == values))
    else:
        assert found == sum(known)
        assert found or (is_whole and known == values)


@pytest.mark.parametrize(
    ("nano", "usd"),
    [(1, "0.000000001"), (-420_000_000, "-0.42"), (10**30 + 1, f"1{'0' * 21}.000000001")],
)
def test_dollars_of_nano_dollars_are_exact(nano, usd):
    assert usd_of(nano) == Decimal(usd)
    assert usd_of(None) is None
    assert nano_of(Decimal(usd)) == nano_of(usd) == nano


@given(st.integers(-(10**60), 10**60))
def test_dollars_and_nano_dollars_convert_without_loss(nano):
    assert nano_of(usd_of(nano)) == nano_of(exact_usd_text(nano)) == nano


@pytest.mark.parametrize(
    ("usd", "nano"),
    [
        ("0", 0),
        ("12.5", 12_500_000_000),
        ("1e3", 10**12),
        ("0.0000000019", 1),
        ("-0.0000000019", -1),
        (f"0.{'9' * 40}", 999_999_999),
        (f"{'9' * 40}.5", int("9" * 40 + "5" + "0" * 8)),
        ("1e-999999999", 0),
    ],
)
def test_digits_after_the_ninth_decimal_are_left_out_not_rounded(usd, nano):
    assert nano_of(usd) == nano


def test_dollars_that_are_not_known_have_no_nano_dollars():
    assert nano_of(None) is None


@pytest.mark.parametrize("text", ["", "a dollar", "1,50"])
def test_a_text_that_is_not_a_number_has_no_nano_dollars(text):
    with pytest.raises(InvalidOperation):
        nano_of(text)
