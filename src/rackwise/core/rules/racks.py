"""Rules about the racks of brokers.

```
racks.missing = "error"
1 /eu/a      2 /eu/b      3 -      4 /us       rack-missing: broker 3; rack-depth: broker 4
5 use1-az1   6 /eu/a/                          rack-odd: brokers 5, 6
```

A broker with an odd rack counts as a broker without a rack in all other rules, but `rack-missing`
does not report it again.

Under `racks.missing = "one-rack"` or `"unaware"` the policy allows brokers without a rack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.registry import rule
from rackwise.core.text import counted, escaped

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
    odd = {each.broker for each in view.cluster.odd_racks}
    bad = [broker for broker in view.tree.rackless if broker in racks and broker not in odd]
    texts = [("a rack", "none" if (rack := racks[id_]) is None else rack.text) for id_ in bad]
    yield FindingBatch.of_brokers("rack-missing", bad, texts)


@rule(
    "rack-odd",
    Severity.ERROR,
    "a rack is malformed, or is a plain name where most racks are paths, or a path among names",
)
def rack_odd(view: View) -> Iterator[FindingBatch]:
    """Brokers whose rack does not count, with what a rack that counts would be."""
    odd = view.cluster.odd_racks
    texts = [(each.wanted, escaped(each.rack.text) or "an empty text") for each in odd]
    yield FindingBatch.of_brokers("rack-odd", [each.broker for each in odd], texts)


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
