"""The values of an explanation: why a plan moves one partition, or leaves it (`reasoning`).

```
PartitionReason   t-0  1 4 2 -> 1 2 3   moved
  rules           spread-even: wanted /a 1, /c 1; had /a 2, /c 0
  given, taken    broker 4 (/a) 7 -> 6, broker 3 (/c) 4 -> 5, fair 5..6
  stay, others    what the set before, and other targets, cost more
  leader          why the first of the list changes
```

Limits: these values hold no sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from rackwise.core.json.declare import NameText, PartitionNumber, Signed, TopicName

State: TypeAlias = Literal[
    "moved", "reordered", "kept", "excluded", "cordoned", "unusable", "untouched"
]
"""What a plan does with a partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReason:
    """A rule that the list of the partition breaks before the plan."""

    rule: NameText
    """Name of the rule."""
    level: str | None
    """Level of the racks; null if the rule is not about racks."""
    wanted: str
    """What the rule expects."""
    had: str
    """What the list has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLoad:
    """A broker with its load before and after the plan."""

    broker: int
    """Id of the broker."""
    rack: str | None
    """Its rack; null without one."""
    before: int
    """Its replicas, or preferred leaderships, before the plan."""
    takes: int
    """How many the plan gives to it."""
    gives: int
    """How many the plan takes from it."""
    after: int
    """Its load after the plan."""
    low: int | None
    """Fewest in a fair plan; null if any load is fair."""
    high: int | None
    """Most in a fair plan; null if any load is fair."""
    price: Signed | None
    """Dual price of one more on the broker; null for a broker that is not usable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """A lower bound of what another choice costs more, by the dual prices."""

    amount: Signed
    """The bound, in the unit of the objective; 0: a plan that is as cheap is not excluded."""
    objective: NameText
    """What it is an amount of: `moves`, `bytes`, `usd`, `replication` or `leaders`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTarget:
    """Another broker for one of the replicas."""

    instead_of: int
    """The broker that the plan has."""
    broker: int
    """The other broker."""
    extra: Extra | None
    """What it costs more at least; null if the plan is not proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderReason:
    """Why the preferred leader changes."""

    before: BrokerLoad
    """The preferred leader before the plan, with preferred leaderships as loads."""
    after: BrokerLoad
    """The preferred leader after the plan."""
    cause: Literal["gone", "unusable", "not-eligible", "loads"]
    """The old one loses its replica, is not live or is to be drained, may not lead the partition by
    the policy, or leads too many."""
    extra: Extra | None
    """What keeping it costs more at least; null unless the cause is `loads` in a proved plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReason:
    """Why a plan moves one partition, or leaves it."""

    topic: TopicName
    partition: PartitionNumber
    before: tuple[int, ...]
    """Broker ids before the plan, preferred leader first."""
    after: tuple[int, ...]
    """Broker ids after the plan, preferred leader first."""
    state: State
    """What the plan does with it; the last four are left alone. `unusable`: it has a replica on a
    broker that is not live or is to be drained, and the goal does not replace it."""
    rules: tuple[RuleReason, ...]
    """The rules that the list breaks before the plan."""
    given: tuple[BrokerLoad, ...]
    """Brokers that lose a replica of the partition."""
    taken: tuple[BrokerLoad, ...]
    """Brokers that get a replica of the partition."""
    can_stay: bool
    """Whether the set before is legal."""
    stay: Extra | None
    """What keeping it costs more at least; null if it is not legal, or the plan is not proved."""
    others: tuple[OtherTarget, ...]
    """Other brokers, cheapest first: for each copied replica; for a kept set, for each replica."""
    leader: LeaderReason | None
    """Why the preferred leader changes; null if it stays."""
    cordoned: tuple[int, ...]
    """Brokers of the list before the plan that take no new replicas (KIP-1066)."""
