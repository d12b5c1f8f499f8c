"""The decision table: 38 rows; the first that holds decides.

```
C configured   m on the disks   h mapped to my key   n = C, else m   W = the time to wait
L registered   K claimed   T used   R mapped by other keys   Z retired   S = T - L - K - Z
```

`held(n)`: n in L, or in K under another session. *looks like me*: the claim has my key, or the
Owner of this very incarnation has, or endpoints overlap, or nothing is known to compare. *cand*:
the ids of S that the rules permit. D9 to D17 apply if C or m is set, D18 to D38 if neither is.

Source: KIP-426, "Determining Broker Id on Broker Startup".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.identity.decision import rows_disk, rows_known, rows_mapped, rows_new

if TYPE_CHECKING:
    from rackwise.core.identity.decision.verdicts import DecisionRow

ROWS: tuple[DecisionRow, ...] = (
    *rows_disk.ROWS,
    *rows_known.ROWS,
    *rows_mapped.ROWS,
    *rows_new.ROWS,
)
"""In the order in which they are checked."""
