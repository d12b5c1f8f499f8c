"""Takes a broker id for this host and starts the broker under it."""

from __future__ import annotations

from rackwise.adapters.launch.driver import acquire
from rackwise.adapters.launch.options import Acquired, AcquireOptions

__all__ = ["AcquireOptions", "Acquired", "acquire"]
