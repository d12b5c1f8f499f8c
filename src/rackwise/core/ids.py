"""Broker ids: 0 to `GREATEST_ID`, Kafka's own range."""

from __future__ import annotations

GREATEST_ID = 2**31 - 1
