"""The policy of a cluster: read from a table, and checked against the cluster.

```
model      Policy and its parts, the defaults, the rules of one topic
format     policy_of: a parsed table (TOML, JSON) -> Policy; policy_table: Policy -> a table
faults     faults of a policy with JSON paths and lines
limits     rules of one topic that exclude each other
checking   check_policy: the cluster has what the policy names, and the rules can hold together
```
"""

from rackwise.core.json.toml_faults import KeyPath, json_path
from rackwise.core.policy.checking import check_policy
from rackwise.core.policy.format import POLICY_FORMAT, policy_of, policy_table
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
    "json_path",
    "policy_of",
    "policy_table",
]
