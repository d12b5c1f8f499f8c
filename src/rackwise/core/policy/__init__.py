"""The policy of a cluster: read from a table, and checked against the cluster.

```
model      Policy and its parts, the defaults, the rules of one topic
table      values with their key paths
parse      policy_of: a parsed table (TOML, JSON) -> Policy
to_table   policy_table: Policy -> a table
limits     rules of one topic that exclude each other
checking   check_policy: the cluster has what the policy names, and the rules can hold together
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
