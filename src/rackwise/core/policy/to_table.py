"""Policy -> the table that reads back as it: what a plan keeps of the policy it was made under.

```
Policy(balance=BalancePolicy(replicas=Slack(1)))  ->  {"format": "rackwise.policy/1", ...
                                                       "balance": {"replicas": {"slack": 1}, ...}}
```

Every key is written, also with its default, so that a later default does not change the meaning of
the text. `policy_of(policy_table(p)) == p`.

What this does not do: keep comments or the order of a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.policy.model import AtLeast, RackCount, Slack
from rackwise.core.policy.parse import POLICY_FORMAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.json.canonical import Json
    from rackwise.core.policy.model import Policy, Spread, TopicBlock


def policy_table(policy: Policy) -> dict[str, Json]:
    """The policy as a table of plain values, which canonical JSON can hold."""
    racks, brokers, balance = policy.racks, policy.brokers, policy.balance
    audit: dict[str, Json] = {"fail_on": policy.audit.fail_on, "ignore": list(policy.audit.ignore)}
    if policy.audit.rack_loss is not None:
        audit["rack_loss"] = list(policy.audit.rack_loss)
    cost: dict[str, Json] = {"minimise": policy.cost.minimise}
    if policy.cost.prices is not None:
        cost["prices"] = policy.cost.prices
    if policy.cost.provider is not None:
        cost["provider"] = policy.cost.provider
    replicas = balance.replicas
    return {
        "format": POLICY_FORMAT,
        "racks": {"levels": list(racks.levels), "missing": racks.missing},
        "brokers": {
            "drain": list(brokers.drain),
            "exclude": list(brokers.exclude),
            "no_lead": list(brokers.no_lead),
            "weights": _by_number(brokers.weights),
        },
        "balance": {
            "replicas": {"slack": replicas.replicas} if isinstance(replicas, Slack) else replicas,
            "leaders": balance.leaders,
            "failover": balance.failover,
        },
        "cost": cost,
        "audit": audit,
        "topics": [_block(block) for block in policy.topics],
    }


def _by_number(values: Mapping[int, int]) -> dict[str, Json]:
    return {str(key): value for key, value in sorted(values.items())}


def _block(block: TopicBlock) -> dict[str, Json]:
    table: dict[str, Json] = {
        "match": list(block.match),
        "spread": {level: _spread(rule) for level, rule in block.spread.items()},
    }
    if block.topic_spread is not None:
        table["topic_spread"] = block.topic_spread
    if block.replication is not None:
        table["replication"] = block.replication
    if block.count is not None:
        table["count"] = [_count(count) for count in block.count]
    if block.count_others is not None:
        table["count_others"] = block.count_others
    if block.pin is not None:
        table["pin"] = {str(key): list(ids) for key, ids in sorted(block.pin.items())}
    if block.leader_racks is not None:
        table["leader_racks"] = list(block.leader_racks)
    return table


def _spread(rule: Spread) -> Json:
    return {"at_least": rule.racks} if isinstance(rule, AtLeast) else rule


def _count(count: RackCount) -> Json:
    table: dict[str, Json] = {"rack": count.rack, "min": count.min}
    if count.max is not None:
        table["max"] = count.max
    return table
