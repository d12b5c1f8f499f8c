"""What became of every row and byte that came in, and the checks that nothing went missing.

Goals, in order: a byte that is lost stops the publication; a bad row is never dropped without a row
in the quarantine or a count; the reasons are told.

```
rows_in  = kept + the rows of every other reason                  of the run, and of each file
bytes_in = the same in bytes, where they are a number
kept     = sum over the traffic                                   of the run
traffic that is money = sum over the bill                         per cluster, day and kind
```

What this does not do: give rows their reasons (see `flows`).
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
SIX_DIGITS = Decimal("0.000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates:
    """Rows and bytes by what became of them.

    `by_reason`: (reason, rows, bytes or None where they are no number), kept first, then by name;
    `by_file`: (file, rows, rows quarantined) by name; `rows_in`, `bytes_in`: counted on their own.
    """

    by_reason: tuple[tuple[str, int, int | None], ...] = ()
    by_file: tuple[tuple[str, int, int], ...] = ()
    rows_in: int = 0
    bytes_in: int = 0

    @classmethod
    def of(
        cls,
        counts: Iterable[tuple[str, str, int, int | None]],
        *,
        rows_in: int,
        bytes_in: int,
    ) -> Fates:
        """From (file, reason, rows, bytes) in any order."""
        reasons: dict[str, tuple[int, int | None]] = {}
        files: dict[str, tuple[int, int]] = {}
        for file, reason, rows, bytes_ in counts:
            had, had_bytes = reasons.get(reason, (0, None))
            whole = bytes_ if had_bytes is None else had_bytes + (bytes_ or 0)
            reasons[reason] = (had + rows, whole)
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
        """Bytes of the rows that are traffic."""
        return sum(bytes_ or 0 for name, _, bytes_ in self.by_reason if name == KEPT)

    @property
    def rows_quarantined(self) -> int:
        """Rows that are malformed."""
        return sum(rows for name, rows, _ in self.by_reason if name.startswith(MALFORMED))

    @property
    def share_quarantined(self) -> Decimal:
        """Malformed rows of all rows, 0 of none."""
        return Decimal(self.rows_quarantined) / self.rows_in if self.rows_in else Decimal(0)

    @property
    def share_text(self) -> str:
        """The share with six digits, rounded up: what is not nothing does not look so."""
        return str(self.share_quarantined.quantize(SIX_DIGITS, ROUND_CEILING))

    def check_quarantine(self, allowed: Decimal) -> None:
        """Refuse more malformed rows than allowed. Raises `QuarantineExceeded` with the reasons."""
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
        """What was written is what was kept. Raises `BytesLost`."""
        _same("rows of flow_fact", self.rows_of(KEPT), rows)
        _same("bytes of flow_fact", self.bytes_kept, bytes_)

    def check_conserved(self) -> None:
        """Rows and bytes in are the sums over the reasons. Raises `BytesLost`."""
        rows = sum(rows for _, rows, _ in self.by_reason)
        bytes_ = sum(bytes_ or 0 for _, _, bytes_ in self.by_reason)
        _same("rows of all outcomes", self.rows_in, rows)
        _same("bytes of all outcomes", self.bytes_in, bytes_)


def check_bytes(table: str, wanted: Mapping[str, int], had: Mapping[str, int]) -> None:
    """Two sums by key are equal; a key with 0 bytes may be missing. Raises `BytesLost`."""
    for key in sorted({*wanted, *had}):
        _same(f"bytes of {table} for {key}", wanted.get(key, 0), had.get(key, 0))


def _same(what: str, wanted: int, had: int) -> None:
    if wanted != had:
        raise BytesLost(
            f"expected {wanted} {escaped(what)}, got {had}; nothing was published",
            wanted=wanted,
            had=had,
            hint="this is a fault of Rackwise, not of your files; please report it with this line",
        )
