"""The broker id that a start gets: the first row of the table that holds decides.

Goals, in order: no id is ever given to two brokers; a broker keeps its id, with or without its
disk; an id that another broker may return for is not taken; if this cannot be known nothing is
guessed, and the rejection names the row, the holder and the remedy; only then a new number is
generated.

```
configured, on the disk   1 and 2 of the KIP    D1..D17    use it
mapped to my key          a                     D18..D27   use it, wait for a stale registration
a spare id                b.1, b.2, b.3         D28..D34   one: use it; several: reject
none of these                                   D35..D38   generate a number
```

A decision is a value. `Take` is for `operations`; `WaitFor`, `ReadMore` and `Generate` ask for
another observation and another decision; `Refuse` carries the error to raise. A decision takes
effect only by its commit, which fails if the store has changed since.

Host h7 returns with an empty disk. Id 7 is mapped to it, and its old registration still exists:

```
t = 0 s    L = {7: h7:9092}   D23   WaitFor /brokers/ids/7 until 27 s
t = 9 s    L = {}             D26   ReadMore at_risk of 7
t = 9 s    nothing at risk    D27   Take 7, a
```

With `Rules.literal_kip` the rows follow their last column: the text of the KIP and nothing else.

What this does not do: read, write, sleep or generate. Nor does it distinguish a replacement from a
newcomer: this cannot be known, so spares are `never` taken unless the operator permits it.

Source: KIP-426.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.identity.decision.situation import Situation
from rackwise.core.identity.decision.table import ROWS
from rackwise.core.identity.decision.verdicts import SkipTo

if TYPE_CHECKING:
    from rackwise.core.identity.model import Decision, Observation, Rules

_INDEXES = {row.name: index for index, row in enumerate(ROWS)}


def decide(observation: Observation, rules: Rules) -> Decision:
    """Return the decision. It is total, and does not depend on the order of any set.

    The last row always holds.

    Source: KIP-426, "Determining Broker Id on Broker Startup".
    """
    situation, at = Situation(observation, rules), 0
    while True:
        row = ROWS[at]
        verdict = row.judge(situation, row.name)
        if verdict is None:
            at += 1
        elif isinstance(verdict, SkipTo):
            at = _INDEXES[verdict.row]
        else:
            return verdict
