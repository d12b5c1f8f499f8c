"""Name what keeps clients from reading in their own rack: the cause, and not all that follows.

Goals, in order: every rule is judged or named in `not_checked` with the reason; one wrong setting
is one finding; wanted and had are told, and what to do.

Reading in the own rack wants all of this at once, and Kafka says nothing where one is missing:

```
client              leader                           replica
client.rack b  -->  broker.rack, Fetch v11,     -->  broker.rack b, in sync
                    RackAwareReplicaSelector
group: members tell their racks, an assignor heeds them, replicas are where members are
```

What follows from what. A finding keeps silent those that it would cause:

```
no broker has a rack                  client-rack, rack-kinds, coverage
a broker is older than Fetch v11      selector and probe of that broker
a broker lacks the selector           probe of that broker
a client rack no broker has           rack-kinds, coverage for that rack
any finding about a group             best of that group, told with it where it is known
```

What this does not do: ask the cluster, or find the best assignment; both come with the facts.

Source: KIP-36, KIP-392, KIP-848, KIP-881.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis import brokers, clients, groups, probes
from rackwise.core.fetch_diagnosis.findings import ReadingFinding, ReadingFindings, Unchecked
from rackwise.core.fetch_diagnosis.view import View

if TYPE_CHECKING:
    from rackwise.core.fetch_diagnosis.facts import ReadingFacts

JUDGES = (
    brokers.fetch_version,
    brokers.broker_rack,
    brokers.rack_kinds,
    brokers.selector,
    clients.client_rack,
    probes.probe,
    groups.whole,
    groups.member_rack,
    groups.protocol,
    groups.assignor,
)


def diagnose_reading(facts: ReadingFacts) -> ReadingFindings:
    """All findings about reading, causes first, and the rules that could not be judged."""
    view = View(facts)
    told = [Unchecked(rule, why) for rule, why in facts.not_read.items()]
    found: list[ReadingFinding | Unchecked] = [
        *told,
        *(each for judge in JUDGES for each in judge(view)),
    ]
    troubled = {
        each.group for each in found if isinstance(each, ReadingFinding) and each.group is not None
    }
    found += [*groups.coverage(view), *groups.best(view, troubled)]
    return ReadingFindings(
        [each for each in found if isinstance(each, ReadingFinding)],
        [each for each in found if isinstance(each, Unchecked)],
    )
