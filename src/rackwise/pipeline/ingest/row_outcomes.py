"""The outcome of every input row and byte, and checks that none is lost.

Goals, in order: a lost byte stops the publication; a bad row is never dropped without a row in the
quarantine or a count; every reason is reported.

```
rows_in  = kept + the rows of every other reason                  of the run, and of each file
bytes_in = the same in bytes, where they are a number
kept     = sum over the traffic                                   of the run
traffic that is billed = sum over the bill                        per cluster, day and kind
```

What this does not do: decide the reason of a row (see `formats`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

from rackwise.core.errors import BytesLost, QuarantineExceeded
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KEPT = "kept"
MALFORMED = "malformed:"
TOP = 5
"""Maximum number of reasons in a message."""
SIX_DIGITS = Decimal("0.000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcomes:
    """Rows and bytes by their outcome."""

    by_reason: tuple[tuple[str, int, int | None], ...] = ()
    """(reason, rows, bytes); kept first, then by name. Bytes are None if no row has a number."""
    by_file: tuple[tuple[str, int, int], ...] = ()
    """(file, rows, rows quarantined), by name."""
    rows_in: int = 0
    """Rows read, counted in a separate pass."""
    bytes_in: int = 0
    """Bytes read, counted in a separate pass."""

    @classmethod
    def of(
        cls,
        counts: Iterable[tuple[str, str, int, int | None]],
        *,
        rows_in: int,
        bytes_in: int,
    ) -> RowOutcomes:
        """From (file, reason, rows, bytes) in any order."""
        reasons: dict[str, tuple[int, int | None]] = {}
        files: dict[str, tuple[int, int]] = {}
        for file, reason, rows, bytes_ in counts:
            rows_before, bytes_before = reasons.get(reason, (0, None))
            whole = bytes_ if bytes_before is None else bytes_before + (bytes_ or 0)
            reasons[reason] = (rows_before + rows, whole)
            all_rows, bad = files.get(file, (0, 0))
            files[file] = (all_rows + rows, bad + (rows if reason.startswith(MALFORMED) else 0))
        order = sorted(reasons, key=lambda reason: (reason != KEPT, reason))
        return cls(
            by_reason=tuple((reason, *reasons[reason]) for reason in order),
            by_file=tuple((file, *files[file]) for file in sorted(files)),
            rows_in=rows_in,
            bytes_in=bytes_in,
        )

    def rows_of(self, reason: str) -> int:
        """Rows of one reason."""
        return sum(rows for name, rows, _ in self.by_reason if name == reason)

    @property
    def bytes_kept(self) -> int:
        """Bytes of the kept rows."""
        return sum(bytes_ or 0 for name, _, bytes_ in self.by_reason if name == KEPT)

    @property
    def rows_quarantined(self) -> int:
        """Number of malformed rows."""
        return sum(rows for name, rows, _ in self.by_reason if name.startswith(MALFORMED))

    @property
    def share_quarantined(self) -> Decimal:
        """Share of malformed rows; 0 where there are no rows."""
        return Decimal(self.rows_quarantined) / self.rows_in if self.rows_in else Decimal(0)

    @property
    def share_text(self) -> str:
        """The share with six digits, rounded up, so that a share above 0 never prints as 0."""
        return str(self.share_quarantined.quantize(SIX_DIGITS, ROUND_CEILING))

    def check_quarantine(self, allowed: Decimal) -> None:
        """Raise `QuarantineExceeded`, with the reasons, for more malformed rows than allowed."""
        if self.share_quarantined <= allowed:
            return
        bad = [(rows, name) for name, rows, _ in self.by_reason if name.startswith(MALFORMED)]
        worst = sorted(bad, key=lambda row: (-row[0], row[1]))[:TOP]
        reasons = ", ".join(f"{escaped(name)} {rows}" for rows, name in worst)
        share = self.share_text
        raise QuarantineExceeded(
            f"expected a share of at most {allowed} malformed rows, got {share} "
            f"({self.rows_quarantined} of {self.rows_in} rows: {reasons})",
            wanted=str(allowed),
            had=share,
            hint=f"correct the files, or allow them with --max-quarantine {share}, which keeps "
            "each malformed row in the table quarantine",
        )

    def check_kept(self, rows: int, bytes_: int) -> None:
        """Raise `BytesLost` if the written rows or bytes differ from the kept ones."""
        _check_equal("rows of flow_fact", self.rows_of(KEPT), rows)
        _check_equal("bytes of flow_fact", self.bytes_kept, bytes_)

    def check_conserved(self) -> None:
        """Raise `BytesLost` if the input differs from the sum over the reasons."""
        rows = sum(rows for _, rows, _ in self.by_reason)
        bytes_ = sum(bytes_ or 0 for _, _, bytes_ in self.by_reason)
        _check_equal("rows of all outcomes", self.rows_in, rows)
        _check_equal("bytes of all outcomes", self.bytes_in, bytes_)


def check_bytes(table: str, wanted: Mapping[str, int], had: Mapping[str, int]) -> None:
    """Raise `BytesLost` if two sums by key differ; a key with 0 bytes may be missing."""
    for key in sorted({*wanted, *had}):
        _check_equal(f"bytes of {table} for {key}", wanted.get(key, 0), had.get(key, 0))


def _check_equal(what: str, wanted: int, had: int) -> None:
    if wanted != had:
        raise BytesLost(
            f"expected {wanted} {escaped(what)}, got {had}; nothing was published",
            wanted=wanted,
            had=had,
            hint="this is a fault of Rackwise, not of your files; please report it with this line",
        )
