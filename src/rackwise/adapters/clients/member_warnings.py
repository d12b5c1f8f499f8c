"""Warnings of one member of a group about mistakes that nothing else shows.

```
never attached              what the member does not do, and how to attach it
no rack                     the group assigns far partitions to it
a rack that no broker has   the same, with the nearest rack of a broker
rounds without a result     the client discards joins that end between two polls
```

Each function logs one line. When and how often is the caller's decision.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis.clients import near_miss
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterable

LOG = logging.getLogger(__name__)


def warn_unattached(name: str, rack: str | None, *, is_cooperative: bool) -> None:
    """Log what a member does not do because no consumer is attached."""
    lost = ["this member sends no rack"] if rack is None else []
    if is_cooperative:
        lost.append("what a round withholds may stay unread until the next one")
    lost.append("changed racks of replicas lead to no new assignment")
    LOG.warning(
        "%s is not attached to its consumer: %s; create the consumer with rack_consumer, or "
        "call attach before the first poll",
        name,
        ", ".join(lost),
    )


def warn_rack(name: str, rack: str | None, of_brokers: Iterable[str | None]) -> None:
    """Log that a member has no rack, or one that no broker has; else nothing.

    `of_brokers`: the racks of all brokers that the client has seen.
    """
    known = sorted({each for each in of_brokers if each})
    if rack is None:
        problem, cure = "has no rack", "set client_rack to the rack of this process"
    elif not known:
        problem = f"is in rack {escaped(rack)}, and no broker has a rack"
        cure = "set broker.rack on the brokers"
    elif rack not in known:
        problem = f"is in rack {escaped(rack)}, and no broker is"
        racks = names_text(known)
        cure = near_miss(rack, known) or f"set client_rack to a rack of the brokers: {racks}"
    else:
        return
    LOG.warning("%s: this consumer %s, so it reads from any rack; %s", name, problem, cure)


def warn_fruitless(name: str, rounds: int) -> None:
    """Log that a leader answers round after round and receives no assignment."""
    LOG.warning(
        "%s: %s in a row, and this member was given nothing; poll for a second at a time: "
        "a join that ends between two polls is thrown away",
        name,
        counted(rounds, "round"),
    )
