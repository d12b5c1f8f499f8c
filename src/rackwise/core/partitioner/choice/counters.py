"""The counters of a topic's partitioner: the destination of bytes, and reasons for remote ones.

```
records 146   total 16 398 = local 16 398 + cross 0 + unknown 0      unknown: no leader or no rack
windows local 1        switches size 1        fallbacks (none)
```

Bytes are counted at the choice: a record that is sent again, or never, counts once. Source:
KIP-1123, "monitoring for imbalances should also be used".
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rackwise.core.partitioner.choice.leaders import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Bytes:
    """Records and their bytes by distance; local + cross + unknown = total."""

    records: int = 0
    local_bytes: int = 0
    cross_bytes: int = 0
    unknown_bytes: int = 0
    by_common_levels: tuple[int, ...] = ()
    """Number of common leading levels of the two racks -> bytes, without unknown."""

    @property
    def total_bytes(self) -> int:
        """All of them."""
        return self.local_bytes + self.cross_bytes + self.unknown_bytes

    def as_dict(self) -> dict[str, Any]:
        """Name -> number, for one JSON object."""
        return {
            "records": self.records,
            "total_bytes": self.total_bytes,
            "local_bytes": self.local_bytes,
            "cross_bytes": self.cross_bytes,
            "unknown_bytes": self.unknown_bytes,
            "bytes_by_common_levels": list(self.by_common_levels),
        }


@dataclass(frozen=True, slots=True)
class PartitionerCounters:
    """A snapshot of the counters of one topic."""

    steered: Bytes
    """Records whose partition was chosen here."""
    unsteered: Bytes
    """All other records."""
    windows: Mapping[str, int]
    """Tier of `Candidates` -> windows begun."""
    switches: Mapping[str, int]
    """Reason (size, twice-size or unusable) -> windows ended."""
    fallbacks: Mapping[str, int]
    """Reason (blank-rack, rack-unmatched, no-local-leader, local-excluded, local-backlog,
    no-leader, split-rack-unavailable, stale-split or internal) -> windows begun."""
    exclusions: int = 0
    """Exclusions of nodes."""
    readmissions: int = 0
    """Readmissions of nodes."""
    probes: int = 0
    """Probes of excluded nodes."""
    windows_acknowledged: int = 0
    """Acknowledged windows, of those with a callback."""
    windows_failed: int = 0
    """Failed windows, of those with a callback."""
    refused_records: int = 0
    """Records that the client rejected after their partition was chosen."""

    @property
    def records(self) -> int:
        """Steered and unsteered records."""
        return self.steered.records + self.unsteered.records

    @property
    def total_bytes(self) -> int:
        """Bytes of steered and unsteered records."""
        return self.steered.total_bytes + self.unsteered.total_bytes

    @property
    def local_bytes(self) -> int:
        """Bytes to leaders in the client's rack."""
        return self.steered.local_bytes + self.unsteered.local_bytes

    @property
    def cross_bytes(self) -> int:
        """Bytes to leaders in other racks."""
        return self.steered.cross_bytes + self.unsteered.cross_bytes

    @property
    def unknown_bytes(self) -> int:
        """Bytes where the client, the leader or its broker has no rack."""
        return self.steered.unknown_bytes + self.unsteered.unknown_bytes

    @property
    def bytes_by_common_levels(self) -> tuple[int, ...]:
        """Number of common leading levels -> bytes."""
        pairs = zip(self.steered.by_common_levels, self.unsteered.by_common_levels, strict=True)
        return tuple(a + b for a, b in pairs)

    def as_dict(self) -> dict[str, Any]:
        """Name -> number, or an object of numbers: the totals, and both parts of them."""
        both = Bytes(
            self.records,
            self.local_bytes,
            self.cross_bytes,
            self.unknown_bytes,
            self.bytes_by_common_levels,
        )
        parts = {"steered": self.steered.as_dict(), "unsteered": self.unsteered.as_dict()}
        named = {name: dict(getattr(self, name)) for name in ("windows", "switches", "fallbacks")}
        numbers = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in {*parts, *named}
        }
        return both.as_dict() | parts | named | numbers


class ByteCount:
    """Running counts of records and bytes."""

    __slots__ = ("_by_common", "_depth", "_unknown", "records")

    def __init__(self, levels: int, depth: int) -> None:
        """`levels`: of the client's rack. `depth`: the common levels that make a leader local."""
        # [levels + 1], bytes by number of common levels
        self._by_common = [0] * (levels + 1)
        self._depth = depth
        self._unknown = 0
        self.records = 0

    def add(self, common: int, size: int) -> None:
        """Add bytes to a leader whose rack shares `common` levels; -1 = unknown."""
        if common == UNKNOWN:
            self._unknown += size
        else:
            self._by_common[common] += size

    def snapshot(self, *, common: int = UNKNOWN, size: int = 0) -> Bytes:
        """The counts so far, plus `size` more bytes."""
        known = self._by_common.copy()
        if common != UNKNOWN:
            known[common] += size
        return Bytes(
            self.records,
            sum(known[self._depth :]),
            sum(known[: self._depth]),
            self._unknown + (size if common == UNKNOWN else 0),
            tuple(known),
        )


def nonzero_counts(counts: Mapping[str, int]) -> Mapping[str, int]:
    """An immutable copy of the counts, sorted by name, without zeros."""
    return MappingProxyType({name: counts[name] for name in sorted(counts) if counts[name]})
