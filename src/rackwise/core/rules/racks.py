"""Rules about the racks of brokers.

```
racks.missing = "error"
1 /eu/a      2 /eu/b      3 -      4 /us       rack-missing: broker 3; rack-depth: broker 4
```

Under `racks.missing = "one-rack"` or `"unaware"` the policy allows brokers without a rack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.registry import rule
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.view import View


def rackless_reason(view: View) -> str | None:
    """`no rack is known of 2 live brokers`; None where each live broker has a rack."""
    rackless = int((view.live & (view.tree.nodes[0] < 0)).sum())
    return f"no rack is known of {counted(rackless, 'live broker')}" if rackless else None


def _why_allowed(view: View) -> str | None:
    missing = view.policy.racks.missing
    return None if missing == "error" else f"racks.missing is {missing}"


@rule("rack-missing", Severity.ERROR, "a live broker has no rack", unless=_why_allowed)
def rack_missing(view: View) -> Iterator[FindingBatch]:
    """Live brokers without a rack."""
    racks = {broker.id: broker.rack for broker in view.cluster.brokers if broker.is_live}
    bad = [broker for broker in view.tree.rackless if broker in racks]
    texts = [("a rack", "none" if (rack := racks[id_]) is None else rack.text) for id_ in bad]
    yield FindingBatch.of_brokers("rack-missing", bad, texts)


@rule("rack-depth", Severity.WARNING, "a rack path is shorter than the deepest one")
def rack_depth(view: View) -> Iterator[FindingBatch]:
    """Brokers whose rack path is shorter than the deepest one."""
    racks = {broker.id: broker.rack for broker in view.cluster.brokers}
    texts = [
        (counted(view.tree.depth, "level"), f"{len(rack.levels)} in {rack.text}")
        for id_ in view.tree.padded
        if (rack := racks[id_]) is not None
    ]
    yield FindingBatch.of_brokers("rack-depth", view.tree.padded, texts)
