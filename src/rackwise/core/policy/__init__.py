"""What is wanted of a cluster: the policy, read from a table and checked against the cluster.

```
values     Policy and its parts, defaults, what holds for one topic
table      values that know where they stand
reading    policy_of: a parsed table (TOML, JSON) -> Policy
checking   check_policy: does the cluster have what the policy names, can its rules be met together
```
"""

from rackwise.core.policy.checking import check_policy
from rackwise.core.policy.model import (
    DEFAULT_POLICY,
    AtLeast,
    AuditPolicy,
    BalancePolicy,
    BrokerPolicy,
    CostPolicy,
    Policy,
    RackCount,
    RackPolicy,
    Slack,
    Spread,
    TopicBlock,
    TopicRules,
)
from rackwise.core.policy.parse import POLICY_FORMAT, policy_of
from rackwise.core.policy.table import KeyPath, dotted

__all__ = [
    "DEFAULT_POLICY",
    "POLICY_FORMAT",
    "AtLeast",
    "AuditPolicy",
    "BalancePolicy",
    "BrokerPolicy",
    "CostPolicy",
    "KeyPath",
    "Policy",
    "RackCount",
    "RackPolicy",
    "Slack",
    "Spread",
    "TopicBlock",
    "TopicRules",
    "check_policy",
    "dotted",
    "policy_of",
]
