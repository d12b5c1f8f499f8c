"""A distribution of its own, as somebody else would install it: three of its placers are wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Nearest:
    """Each partition on consecutive brokers, from `start` on. Nothing else is looked at."""

    start: int = 0
    name = "nearest"

    def place(self, request, /):
        """Rows of broker ids."""
        ids = np.array([broker.id for broker in request.brokers], dtype=np.int32)
        first = np.arange(request.partitions) + request.first_partition + self.start
        return ids[(first[:, None] + np.arange(request.replication)) % len(ids)]


class Wide:
    """Floats."""

    name = "wide"

    def place(self, request, /):
        """Rows of another kind of number."""
        return np.zeros((request.partitions, request.replication))


class Broken:
    """No rows at all."""

    name = "broken"

    def place(self, request, /):
        """What a fault in it looks like."""
        raise ZeroDivisionError(f"{request.partitions} by zero")


class Stuck:
    """Every replica on the first broker."""

    name = "stuck"

    def place(self, request, /):
        """Rows that no topic can have."""
        shape = (request.partitions, request.replication)
        return np.full(shape, request.brokers[0].id, dtype=np.int32)
