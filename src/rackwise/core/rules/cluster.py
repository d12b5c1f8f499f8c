"""Rules about the cluster as a whole, one finding each.

Unequal racks. Fairness is over brokers, not racks, so a bigger rack may hold more. The rules of a
policy may give a small rack a share that its brokers can only hold by holding more than the others.
No plan can even this out; one finding names the rack that is worst:

```
3 replicas, even, 100 partitions      /a 2 brokers    /b 2 brokers    /c 1 broker      mean 60
least share of each rack              100             100             100
on each broker at least               50              50              100 <- forced
```

What this does not do: take weights of brokers into account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.boxes import boxes
from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.racks import rackless_reason
from rackwise.core.rules.registry import rule
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.view import View


def _has_no_balance(view: View) -> str | None:
    is_off = view.policy.balance.replicas == "off"
    return rackless_reason(view) or ("balance.replicas is off" if is_off else None)


@rule(
    "unequal-racks",
    Severity.INFO,
    "a rack has so few brokers that its rules force more load on them",
    unless=_has_no_balance,
)
def unequal_racks(view: View) -> Iterator[FindingBatch]:
    """The rack whose rules force the most replicas on each broker, if that is above the mean."""
    usable = [view.usable_below(level) for level in range(view.tree.depth)]
    # Per level and node: the least number of replicas that the rules put below the node.
    forced = [np.zeros(len(nodes), dtype=np.int64) for nodes in usable]
    for block in view.rack_patterns:
        found = boxes(view.tree, usable, block.rules, block.nodes.shape[1])
        for level, box in enumerate(found or ()):
            forced[level] += box.low * len(block.rows)
    brokers = int(view.usable.sum())
    mean = -(-len(view.placed.values) // brokers) if brokers else 0
    worst: tuple[int, int, int] | None = None
    for level, least in enumerate(forced):
        each = -(-least // np.maximum(usable[level], 1))
        for node in np.flatnonzero(each > mean).tolist():
            if worst is None or each[node] > worst[0]:
                worst = (int(each[node]), level, node)
    if worst is not None:
        load, level, node = worst
        had = (
            f"{load} or more on a broker of {view.tree.names[level][node]}, "
            f"which has {usable[level][node]} of {counted(brokers, 'broker')}"
        )
        wanted = f"{counted(mean, 'replica')} on a broker, the mean"
        yield FindingBatch.of_cluster("unequal-racks", wanted, had, level=level)


@rule("size-unknown", Severity.INFO, "the size of a partition is not known")
def size_unknown(view: View) -> Iterator[FindingBatch]:
    """How many partitions have no known size."""
    unknown = int((view.table.bytes < 0).sum())
    if unknown:
        wanted = f"the size of {counted(len(view.table), 'partition')}"
        yield FindingBatch.of_cluster("size-unknown", wanted, f"{unknown} not known")


@rule("not-visible", Severity.INFO, "a part of the cluster could not be read")
def not_visible(view: View) -> Iterator[FindingBatch]:
    """What the reader of the cluster could not see."""
    texts = sorted(note.text for note in view.cluster.notes if note.kind == "not-visible")
    if texts:
        had = "; ".join(map(escaped, texts))
        yield FindingBatch.of_cluster("not-visible", "all of it visible", had)
