"""Starts a broker under the id that is its own."""

from __future__ import annotations

from rackwise.adapters.launch.driver import acquire
from rackwise.adapters.launch.options import Acquired, AcquireOptions

__all__ = ["AcquireOptions", "Acquired", "acquire"]
