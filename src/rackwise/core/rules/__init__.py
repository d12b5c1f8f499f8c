"""The rules of the audit: one function each, from a view of a cluster to findings as columns.

```
racks         rack-missing, rack-odd, rack-depth
spread        spread-even, spread-distinct, spread-at-least, rack-count
replicas      replication, dead-replica, drained-broker, pin
sync          offline, under-min-isr, under-replicated, at-min-isr
loss          rack-loss-offline, rack-loss-min-isr
leaders       leader-rack, not-preferred-leader
loads         replica-balance, leader-balance, topic-spread
reassignment  throttle-left, reassigning
cluster       unequal-racks, size-unknown, not-visible
cordons       cordoned
```

To add a rule, write a function with `@rule` in one of these files, and name it here. A new file
needs one import here. The order of the imports is the order in which the findings of one place are
listed. If the rule means lost writes or a lost partition, `consequence.py` needs a line, too.
"""

# isort: off
from rackwise.core.rules.registry import CONDITIONS, RULES
from rackwise.core.rules import racks  # noqa: F401 (the import registers the rules)
from rackwise.core.rules import spread  # noqa: F401
from rackwise.core.rules import replicas  # noqa: F401
from rackwise.core.rules import sync  # noqa: F401
from rackwise.core.rules import loss  # noqa: F401
from rackwise.core.rules import leaders  # noqa: F401
from rackwise.core.rules import loads  # noqa: F401
from rackwise.core.rules import reassignment  # noqa: F401
from rackwise.core.rules import cluster  # noqa: F401
from rackwise.core.rules import cordons  # noqa: F401
# isort: on

__all__ = ["CONDITIONS", "RULES"]
