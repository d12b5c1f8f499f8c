"""Price tables: rows to prices, faults with a line that is right, and the shipped table."""

import re
from contextlib import suppress
from datetime import date, timedelta
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.adapters.files import (
    parse_prices,
    read_prices,
    shipped_price_notes,
    shipped_price_table,
    shipped_prices,
)
from rackwise.core.errors import InvalidPrices
from rackwise.core.traffic import ANY, NANO, Price, price_of, prices_of

HEADER = (
    "provider,region,level,kind,usd_per_gb_out,usd_per_gb_in,gb_bytes,valid_from,valid_to,"
    "source,is_checked\n"
)
AWS = "aws,*,zone,*,0.01,0.01,1073741824,2026-11-01,,https://aws.example/,true\n"
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "prices.md"
TODAY = date(2026, 11, 24)
LAST_YEAR = date(2025, 1, 1)
CENT = NANO // 100
SHIPPED = shipped_prices()
PROVIDERS = list(dict.fromkeys(price.provider for price in SHIPPED))
KINDS = ("produce", "fetch", "replicate")
BOTH, SENDER, CLIENT_SENDS, CLIENT_GETS, FREE = (
    (CENT, CENT),
    (CENT, 0),
    (CENT, 0),
    (0, CENT),
    (0, 0),
)
ZONE = {
    "aws": (BOTH, BOTH, BOTH),
    "aws-msk": (BOTH, BOTH, FREE),
    "gcp": (SENDER, SENDER, SENDER),
    "azure": (FREE, FREE, FREE),
    "aws-vpc-peering": (BOTH, BOTH, BOTH),
    "aws-privatelink": (CLIENT_SENDS, CLIENT_GETS, BOTH),
    "aws-transit-gateway": ((2 * CENT, 0), (2 * CENT, 0), BOTH),
    "confluent-cloud": (CLIENT_SENDS, CLIENT_GETS, FREE),
    "oci": (FREE, FREE, FREE),
}
"""Out and in of a GiB that crosses a zone: produce, fetch, replicate."""
LEVELS = {(price.provider, price.level) for price in SHIPPED}
RECENT: set[tuple[str, str]] = set()
"""Provider and level without a price, or whose first price is later than `LAST_YEAR`."""


def chosen(provider, kind, *, level="zone", region=None, day=TODAY):
    return price_of(prices_of(SHIPPED, provider), region=region, level=level, kind=kind, day=day)


class TestPrices:
    def test_dollars_become_nano_dollars(self):
        line = "p,eu-1,*,fetch,12.000000001,0.5,1000000000,2026-11-01,2027-01-01,x,false\n"
        assert parse_prices((HEADER + AWS + line).encode(), where="dir/p.csv")[1] == Price(
            provider="p",
            region="eu-1",
            level="*",
            kind="fetch",
            nano_usd_per_gb_out=12_000_000_001,
            nano_usd_per_gb_in=500_000_000,
            gb_bytes=10**9,
            valid_from=date(2026, 11, 1),
            valid_to=date(2027, 1, 1),
            source="x",
            is_checked=False,
            row="dir/p.csv:3",
        )

    @pytest.mark.parametrize(
        ("old", "new", "column", "had"),
        [
            ("0.01,0.01", "a cent,0.01", "usd_per_gb_out", '"a cent"'),
            ("0.01,0.01", "0.01,NaN", "usd_per_gb_in", '"NaN"'),
            ("0.01,0.01", "0.01,inf", "usd_per_gb_in", '"inf"'),
            ("0.01,0.01", "-0.01,0.01", "usd_per_gb_out", '"-0.01"'),
            ("0.01,0.01", "+0.01,0.01", "usd_per_gb_out", '"+0.01"'),
            ("0.01,0.01", "0.0100000001,0.01", "usd_per_gb_out", '"0.0100000001"'),
            ("0.01,0.01", "1e-2,0.01", "usd_per_gb_out", '"1e-2"'),
            ("0.01,0.01", "\u0660.01,0.01", "usd_per_gb_out", '"\u0660.01"'),
            ("0.01,0.01", "10000000,0.01", "usd_per_gb_out", '"10000000"'),
            ("0.01,0.01", ",0.01", "usd_per_gb_out", "an empty cell"),
            ("1073741824", "0", "gb_bytes", '"0"'),
            ("1073741824", "1GiB", "gb_bytes", '"1GiB"'),
            ("2026-11-01,", "2026-11-31,", "valid_from", '"2026-11-31"'),
            ("2026-11-01,", "20261101,", "valid_from", '"20261101"'),
            ("2026-11-01,", "2026-11-01,2026-11-01", "valid_to", '"2026-11-01"'),
            ("2026-11-01,", "2026-11-01,2025-11-01", "valid_to", '"2025-11-01"'),
            ("2026-11-01,", "2026-11-01,never", "valid_to", '"never"'),
            ("zone,*", "zone,read", "kind", '"read"'),
            ("zone,*", ",*", "level", "an empty cell"),
            ("aws,*", ",*", "provider", "an empty cell"),
            ("true", "yes", "is_checked", '"yes"'),
        ],
    )
    def test_the_hint_has_a_line_that_is_right(self, old, new, column, had):
        text = HEADER + AWS + AWS.replace(old, new)
        with pytest.raises(InvalidPrices) as raised:
            parse_prices(text.encode(), where="p.csv")
        error = raised.value
        assert error.message.startswith(f"invalid p.csv:3: {column}: expected ")
        assert f", got {had}" in error.message
        assert error.where == "p.csv:3"
        ready = error.hint.removeprefix("for example: ")
        assert len(parse_prices(f"{HEADER}{ready}\n".encode(), where="p.csv")) == 1

    def test_a_line_that_is_ready_keeps_a_comma_in_a_cell(self):
        line = AWS.replace("https://aws.example/", '"a, ""b"""').replace("true", "yes")
        with pytest.raises(InvalidPrices) as raised:
            parse_prices((HEADER + line).encode(), where="p.csv")
        ready = raised.value.hint.removeprefix("for example: ")
        assert parse_prices(f"{HEADER}{ready}\n".encode(), where="p")[0].source == 'a, "b"'

    @given(st.integers(0, len(AWS)), st.integers(0, 4), st.text(max_size=4))
    def test_only_our_errors_leave(self, at, cut, inserted):
        with suppress(InvalidPrices):
            text = HEADER + AWS[:at] + inserted + AWS[at + cut :]
            parse_prices(text.encode("utf-8", "surrogatepass"), where="p.csv")


class TestShippedTable:
    def test_it_is_read_like_any_table(self, tmp_path):
        (tmp_path / "p.csv").write_bytes(shipped_price_table())
        read = read_prices(tmp_path / "p.csv")
        assert [price.provider for price in read] == [price.provider for price in SHIPPED]
        assert [price.row for price in SHIPPED] == [
            f"prices.csv:{number}" for number in range(2, 2 + len(SHIPPED))
        ]
        others = [price.row for price in SHIPPED if price.gb_bytes != 2**30]
        assert others == [], "gb_bytes of the shipped table is 1073741824"

    def test_its_providers(self):
        assert list(ZONE) == PROVIDERS, "list the provider in ZONE, in the order of prices.csv"

    @pytest.mark.parametrize("provider", ZONE)
    def test_a_gib_across_zones(self, provider):
        found = [chosen(provider, kind).price for kind in KINDS]
        ends = tuple((each.nano_usd_per_gb_out, each.nano_usd_per_gb_in) for each in found)
        assert ends == ZONE[provider]
        assert all(each.is_checked for each in found)

    @pytest.mark.parametrize(
        ("provider", "level"),
        [pair for pair in product(ZONE, ["zone", "region"]) if pair not in RECENT],
    )
    def test_flows_of_last_year_are_not_extrapolated(self, provider, level):
        assert (provider, level) in LEVELS, "add a row of this level, or the pair to RECENT"
        found = [
            chosen(provider, kind, level=level, day=LAST_YEAR + timedelta(days=days))
            for kind in KINDS
            for days in range(0, (TODAY - LAST_YEAR).days, 7)
        ]
        is_late = any(each.is_extrapolated for each in found)
        assert not is_late, f"valid_from is later than {LAST_YEAR}: add the pair to RECENT"

    def test_a_dearer_region_has_its_own_row(self):
        tokyo = chosen("aws", "fetch", level="region", region="ap-northeast-1").price
        other = chosen("aws", "fetch", level="region", region="eu-west-1").price
        assert (tokyo.nano_usd_per_gb_out, other.nano_usd_per_gb_out) == (9 * CENT, 2 * CENT)
        assert tokyo.nano_usd_per_gb_in == other.nano_usd_per_gb_in == 0
        zone = chosen("aws", "fetch", region="ap-northeast-1").price
        assert (zone.nano_usd_per_gb_out, zone.nano_usd_per_gb_in) == BOTH

    @pytest.mark.parametrize("provider", ["aws-msk", "aws-vpc-peering"])
    def test_regions_cost_the_same_over_each_way_of_aws(self, provider):
        for price in prices_of(SHIPPED, "aws"):
            if price.level == "region":
                same = chosen(provider, "fetch", level="region", region=price.region).price
                assert same.nano_usd_per_gb_out == price.nano_usd_per_gb_out

    @given(
        st.sampled_from(SHIPPED),
        st.sampled_from((*KINDS, "other")),
        st.sampled_from(["zone", "region"]),
        st.dates(date(2000, 1, 1), date(2100, 1, 1)),
    )
    def test_no_day_has_two_prices_or_a_gap(self, row, kind, level, day):
        region = None if row.region == ANY else row.region
        choice = chosen(row.provider, kind, level=level, region=region, day=day)
        if choice is None:
            is_without = (row.provider, level) in RECENT and (row.provider, level) not in LEVELS
            assert is_without or (row.provider, kind) == ("confluent-cloud", "other")
        else:
            assert choice.is_extrapolated == (day < choice.price.valid_from)

    @pytest.mark.parametrize("price", SHIPPED, ids=lambda price: price.row)
    def test_each_row_has_a_source_and_prices_between_regions_are_doubted(self, price):
        assert re.fullmatch(r"https://[^\s,]+", price.source)
        if price.level == "zone":
            assert price.is_checked, "compare the price with its source and write true"
        if price.region != ANY:
            assert not price.is_checked, "a row knows the sender's region only: write false"

    @pytest.mark.parametrize("provider", ZONE)
    def test_who_also_charges_for_bytes_that_stay_in_a_rack_has_a_note(self, provider):
        notes = shipped_price_notes(provider)
        assert len(notes) == (provider in {"aws-privatelink", "aws-transit-gateway"})
        assert all(note.startswith(f"{provider}: ") for note in notes)

    def test_the_page_has_each_provider_and_each_day(self):
        text = PAGE.read_text()
        for provider in PROVIDERS:
            assert f"| `{provider}` |" in text, f"docs/reference/prices.md lacks {provider}"
        for price in SHIPPED:
            if price.level == "zone":
                day = str(price.valid_from)
                assert day in text, f"docs/reference/prices.md lacks {day} of {price.row}"
