"""The policy as a value: defaults, and what holds for one topic.

A policy is a list of topic blocks over cluster-wide settings. Blocks are read in order; a later
block that matches the topic wins, key by key, and `spread` level by level:

```
block                 match        spread                replication
0                     *            region=even
1                     payments.*   zone=distinct         3
2                     *.log        region=off
payments.log          ->           region=off            3
                                   zone=distinct
orders                ->           region=even           what each partition has
                                   zone=even (default)
```

Defaults: every level even, balance even, topic_spread off, replication as each partition has it,
racks other than the counted ones free, a rack lost judged at the finest level.

Limits: this module does not read TOML (`parse` takes a parsed table), and knows no cluster
(`checking` does).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Spread over at least so many distinct racks, then anywhere."""

    racks: int


@dataclass(frozen=True, slots=True)
class Slack:
    """Loads may leave the fair ones by so many replicas, down and up."""

    replicas: int


Spread: TypeAlias = Literal["even", "distinct", "off"] | AtLeast
"""How the replicas of a partition lie over the racks of one level.

`even`: no rack holds two more than another that has room; `distinct`: at most one in a rack.
"""

Missing: TypeAlias = Literal["error", "one-rack", "unaware"]
"""What a live broker without rack means: a fault, one more rack, or no spread rules at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackPolicy:
    """`levels`: names of the rack levels, coarsest first; empty: `zone`, or `level1..`."""

    levels: tuple[str, ...] = ()
    missing: Missing = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerPolicy:
    """Broker ids in rising order; `weights`: broker id -> share of the load, 1 where absent.

    `drain`: must hold nothing; `exclude`: keeps what it has and takes nothing new; `no_lead`: must
    not be preferred leader.
    """

    drain: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    no_lead: tuple[int, ...] = ()
    weights: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancePolicy:
    """Whether loads are evened out; `failover`: the second position of the lists as well."""

    replicas: Literal["even", "off"] | Slack = "even"
    leaders: Literal["even", "keep", "off"] = "even"
    failover: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPolicy:
    """What a plan makes small, and where its prices are."""

    minimise: Literal["moves", "bytes", "usd"] = "moves"
    prices: str | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPolicy:
    """`rack_loss`: levels at which the loss of one rack is judged.

    None is the finest level of the cluster, empty is off. `ignore`: names of rules. `fail_on`: the
    least severity that counts as a difference.
    """

    fail_on: Literal["error", "warning", "info", "never"] = "warning"
    rack_loss: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RackCount:
    """Between `min` and `max` replicas of each partition lie in `rack`; None is no upper limit."""

    rack: str
    min: int = 0
    max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicBlock:
    """What topics matching one of the globs must keep; None where the block does not say.

    `pin`: partition -> brokers that must hold it; `leader_racks`: in order of preference.
    """

    match: tuple[str, ...]
    spread: Mapping[str, Spread] = field(default_factory=lambda: MappingProxyType({}))
    topic_spread: Literal["off", "even"] | None = None
    replication: int | None = None
    count: tuple[RackCount, ...] | None = None
    count_others: Literal["none", "any"] | None = None
    pin: Mapping[int, tuple[int, ...]] | None = None
    leader_racks: tuple[str, ...] | None = None

    def matches(self, topic: str) -> bool:
        """Whether one of the globs (`*`, `?`, `[..]`, case counts) fits the whole name."""
        return any(fnmatchcase(topic, glob) for glob in self.match)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRules:
    """What holds for one topic, after all blocks: one `spread` per level, coarsest first."""

    spread: tuple[Spread, ...]
    topic_spread: Literal["off", "even"] = "off"
    replication: int | None = None
    count: tuple[RackCount, ...] = ()
    count_others: Literal["none", "any"] = "any"
    pin: tuple[tuple[int, tuple[int, ...]], ...] = ()
    leader_racks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policy of a cluster; `Policy()` has every default."""

    racks: RackPolicy = field(default_factory=RackPolicy)
    brokers: BrokerPolicy = field(default_factory=BrokerPolicy)
    balance: BalancePolicy = field(default_factory=BalancePolicy)
    cost: CostPolicy = field(default_factory=CostPolicy)
    audit: AuditPolicy = field(default_factory=AuditPolicy)
    topics: tuple[TopicBlock, ...] = ()

    def blocks_of(self, topic: str) -> tuple[int, ...]:
        """Indices of the blocks that match a topic, in order."""
        return tuple(i for i, block in enumerate(self.topics) if block.matches(topic))

    def rules_of(self, topic: str, levels: Sequence[str]) -> TopicRules:
        """What holds for one topic; `levels`: names of the cluster's levels, coarsest first."""
        return self.rules_from(self.blocks_of(topic), levels)

    def rules_from(self, blocks: Sequence[int], levels: Sequence[str]) -> TopicRules:
        """What the blocks at these indices say together, later ones winning, over the defaults."""
        matching = [self.topics[i] for i in blocks]
        spread: dict[str, Spread] = {}
        for block in matching:
            spread.update(block.spread)
        pin = _last([block.pin for block in matching], {})
        return TopicRules(
            spread=tuple(spread.get(level, "even") for level in levels),
            topic_spread=_last([block.topic_spread for block in matching], "off"),
            replication=_last([block.replication for block in matching], None),
            count=_last([block.count for block in matching], ()),
            count_others=_last([block.count_others for block in matching], "any"),
            pin=tuple(sorted(pin.items())),
            leader_racks=_last([block.leader_racks for block in matching], ()),
        )


def _last(said: Sequence[T | None], default: T) -> T:
    """The last value that was said."""
    return next((value for value in reversed(said) if value is not None), default)


DEFAULT_POLICY = Policy()
"""Every level even, balance even, nothing else."""
