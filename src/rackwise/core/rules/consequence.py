"""What a broken rule of the audit leads to, worst first.

A severity says how sure it is that something is wrong; a consequence says what happens. A list that
people work through from the top is ordered by consequence, so that a partition that the loss of one
rack takes offline comes before one whose replicas are merely uneven over the racks:

```
severity   rule                consequence
error      offline             offline now
error      under-min-isr       writes stop now
warning    rack-loss-offline   offline if a rack is lost
warning    rack-loss-min-isr   writes stop if a rack is lost
warning    at-min-isr          writes stop if one more replica is lost
error      dead-replica        a replica is missing
error      spread-even         not as the policy wants
warning    leader-balance      slower or dearer
info       size-unknown        a remark
```

A rule that is not listed here has the consequence that is usual for its severity.

What this does not do: change a severity, an exit code or the count of partitions that are not
rack-safe.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from rackwise.core.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.findings import Rule


class Consequence(StrEnum):
    """What a broken rule leads to, worst first."""

    OFFLINE = "offline now"
    NO_WRITES = "writes stop now"
    OFFLINE_ON_LOSS = "offline if a rack is lost"
    NO_WRITES_ON_LOSS = "writes stop if a rack is lost"
    NO_WRITES_ON_FAILURE = "writes stop if one more replica is lost"
    MISSING = "a replica is missing"
    POLICY = "not as the policy wants"
    SLOWER = "slower or dearer"
    REMARK = "a remark"


CONSEQUENCES: Final[Mapping[str, Consequence]] = {
    "offline": Consequence.OFFLINE,
    "under-min-isr": Consequence.NO_WRITES,
    "rack-loss-offline": Consequence.OFFLINE_ON_LOSS,
    "rack-loss-min-isr": Consequence.NO_WRITES_ON_LOSS,
    "at-min-isr": Consequence.NO_WRITES_ON_FAILURE,
    "dead-replica": Consequence.MISSING,
    "under-replicated": Consequence.MISSING,
    "replication": Consequence.MISSING,
    "rack-depth": Consequence.POLICY,
}
"""Rule name -> its consequence."""
_USUAL: Final[Mapping[Severity, Consequence]] = {
    Severity.ERROR: Consequence.POLICY,
    Severity.WARNING: Consequence.SLOWER,
    Severity.INFO: Consequence.REMARK,
}


def consequence(rule: Rule) -> Consequence:
    """What happens because the rule is broken."""
    return CONSEQUENCES.get(rule.name, _USUAL[rule.severity])


def by_consequence(rules: Mapping[str, Rule]) -> tuple[Rule, ...]:
    """The rules, worst consequence first, then in the order of the table."""
    order = list(Consequence)
    return tuple(sorted(rules.values(), key=lambda rule: order.index(consequence(rule))))
