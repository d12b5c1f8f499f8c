"""A price table of one row, for the truths of generated fleets."""

from __future__ import annotations

from datetime import date

from rackwise.core.traffic import Price

AWS = Price(
    provider="aws",
    region="*",
    level="zone",
    kind="*",
    nano_usd_per_gb_out=10_000_000,
    nano_usd_per_gb_in=10_000_000,
    gb_bytes=2**30,
    valid_from=date(2026, 1, 1),
    valid_to=None,
    source="",
    is_checked=True,
    row="prices.csv:2",
)
