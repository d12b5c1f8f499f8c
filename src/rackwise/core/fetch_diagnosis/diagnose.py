"""Finds what keeps clients from reading in their own rack: the cause, not all its effects.

Goals, in order: every rule is checked or named in `not_checked` with the reason; one wrong setting
is one finding; each finding says what was wanted and had, and what to do.

A client reads in its own rack only if all of this holds at once. Kafka reports nothing if a part is
missing:

```
client              leader                           replica
client.rack b  -->  broker.rack, Fetch v11,     -->  broker.rack b, in sync
                    RackAwareReplicaSelector
group: members send their racks, the assignor respects them, replicas are where members are
```

Causes and effects. A finding suppresses those that it would cause:

```
no broker has a rack                  client-rack, rack-kinds, coverage
a broker is older than Fetch v11      selector and probe of that broker
a broker lacks the selector           probe of that broker
a client rack that no broker has      rack-kinds, coverage for that rack
an error or warning about a group     best of that group, which its text mentions if it is known
```

What this does not do: ask the cluster, or find the best assignment; the facts contain both.

Source: KIP-36, KIP-392, KIP-848, KIP-881.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis.groups import unseen_groups
from rackwise.core.fetch_diagnosis.view import READING_RULES, FetchView
from rackwise.core.findings import Finding, FindingList, Severity, Unchecked

if TYPE_CHECKING:
    from rackwise.core.fetch_diagnosis.facts import ReadingFacts


def diagnose_reading(facts: ReadingFacts) -> FindingList:
    """All findings about reading, causes first, and the rules that could not be checked."""
    view = FetchView(facts)
    found: list[Finding | Unchecked] = [
        Unchecked(name, why) for name, why in facts.not_read.items()
    ]
    found += unseen_groups(view)
    for name, check in READING_RULES.checks.items():
        results = list(check(view))
        found += results
        if READING_RULES[name].severity != Severity.INFO:
            view.troubled |= {
                each.group
                for each in results
                if isinstance(each, Finding) and each.group is not None
            }
    return FindingList(READING_RULES, found)
