"""What differs between two policies, setting by setting.

```
default                     the policy of a plan          differences
balance.replicas "even"     balance.replicas "off"        balance.replicas = "off"
topics []                   topics [{match: ["a.*"], ..}] topics = [{"match":["a.*"], ..}]
```

Limits: this module does not judge which of two values is stricter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.json.canonical import canonical_json
from rackwise.core.policy.format import policy_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwise.core.json.canonical import Json
    from rackwise.core.policy.model import Policy


def differences(policy: Policy, base: Policy) -> tuple[str, ...]:
    """The settings of a policy that `base` does not have: `key = value`, ascending by key."""
    own, others = (dict(_settings(policy_table(one))) for one in (policy, base))
    return tuple(
        f"{key} = {own.get(key, 'nothing')}"
        for key in sorted(own.keys() | others.keys())
        if own.get(key) != others.get(key)
    )


def _settings(table: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Dotted keys and their values as JSON; a list is one value, an empty table has none."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", canonical_json(value)
