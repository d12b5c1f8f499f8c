"""Which id a broker has: the first row of the table that holds.

Goals, in order: no id is ever given to two; a broker keeps its id, with its disk or without; an id
that another broker may come back for is not taken; where that cannot be told nothing is guessed,
and the refusal names the row, the holder and the remedy; only then is a new number drawn.

```
configured, on the disk   1 and 2 of the KIP    D1..D17    use it
mapped to my key          a                     D18..D27   use it, wait for a stale one
a spare id                b.1, b.2, b.3         D28..D34   one: use it; several: refuse
none of these                                   D35..D38   draw a number
```

A decision is a value. `Take` is for `operations`; `WaitFor`, `ReadMore` and `Generate` ask for
another observation and another decision; `Refuse` carries the error to raise. A decision takes
effect only by its commit, which fails if the store has changed since.

Host h7 comes back with an empty disk, id 7 mapped to it, its old registration still there:

```
t = 0 s    L = {7: h7:9092}   D23   Wait on /brokers/ids/7 until 27 s
t = 9 s    L = {}             D26   Look at_risk of 7
t = 9 s    nothing at risk    D27   Take 7, a
```

`Rules.literal_kip` asks the same rows by their last column: the KIP's text and nothing else.

What this does not do: read, write, sleep or draw. Nor does it know a replacement from a newcomer:
nobody can, therefore spares are `never` taken unless the operator says so.

Source: KIP-426.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.identity.decision.situation import Situation
from rackwise.core.identity.decision.table import ROWS
from rackwise.core.identity.decision.verdicts import SkipTo

if TYPE_CHECKING:
    from rackwise.core.identity.model import Decision, Observation, Rules

_PLACES = {row.name: place for place, row in enumerate(ROWS)}


def decide(observation: Observation, rules: Rules) -> Decision:
    """What follows from what was seen; total, and independent of the order of any set.

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
            at = _PLACES[verdict.row]
        else:
            return verdict
