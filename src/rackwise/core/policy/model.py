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

The types of the fields are also the format of a policy file (`format`). Limits: this module reads
no file, and knows no cluster (`checking` does).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, TypeVar

from rackwise.core.errors import InvalidRack
from rackwise.core.json.declare import (
    MAX_INTEGER,
    OMITTED,
    Between,
    Checked,
    Key,
    Matching,
    Once,
    Says,
)
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.json.declare import PartitionNumber

T = TypeVar("T")


def _path_hint(text: str) -> str | None:
    """The hint for a text that is not a rack path below the root."""
    return _rack_hint(text) if text.startswith("/") else "begin the path with /"


def _rack_hint(text: str) -> str | None:
    """The hint for a text that is not a rack below the root."""
    try:
        levels = Rack(text).levels
    except InvalidRack as error:
        return error.message
    return None if levels else "name a rack as broker.rack does"


_ONE_OR_MORE: Final = "an integer of 1 or more"
_SPREADS: Final = "even, distinct, off or { at_least = N }"

FilledText: TypeAlias = Annotated[str, Matching(re.compile(r"[\s\S]+"), "a text")]
"""A text that is not empty."""
Texts: TypeAlias = Annotated[tuple[FilledText, ...], Once("name"), Says("a list")]
RackLoss: TypeAlias = Annotated[tuple[FilledText, ...], Once("level"), Says("a list of levels")]
RackText: TypeAlias = Annotated[str, Checked(_rack_hint, "a rack below the root")]
RackPath: TypeAlias = Annotated[str, Checked(_path_hint, "a rack path")]
RackTexts: TypeAlias = Annotated[tuple[RackText, ...], Once("rack"), Says("a list")]
Id: TypeAlias = Annotated[int, Between()]
Ids: TypeAlias = Annotated[tuple[Id, ...], Once("broker", is_sorted=True), Says("a list")]
"""Broker ids in rising order."""
OneOrMore: TypeAlias = Annotated[int, Between(1, MAX_INTEGER, _ONE_OR_MORE)]
Weight: TypeAlias = Annotated[
    int,
    Between(1, MAX_INTEGER, _ONE_OR_MORE, "list a broker that must hold nothing in drain"),
]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Spread over at least so many distinct racks, then anywhere."""

    racks: Annotated[OneOrMore, Key("at_least")]
    """Fewest distinct racks; a partition with fewer replicas needs a rack for each of them."""


@dataclass(frozen=True, slots=True)
class Slack:
    """Loads may leave the fair ones by so many replicas, down and up."""

    replicas: Annotated[
        int,
        Between(hint='no slack at all is replicas = "even"'),
        Key("slack"),
    ]
    """Replicas by which a load may differ from the fair one."""


Spread: TypeAlias = Annotated[Literal["even", "distinct", "off"] | AtLeast, Says(_SPREADS)]
"""How the replicas of a partition lie over the racks of one level.

`even`: no rack holds two more than another that has room; `distinct`: at most one in a rack.
"""

Missing: TypeAlias = Literal["error", "one-rack", "unaware"]
"""What a live broker without rack means: a fault, one more rack, or no spread rules at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackPolicy:
    """Levels of the racks, and brokers without a rack."""

    levels: Texts = ()
    """Names of the rack levels, coarsest first; empty: `zone`, or `level1..`."""
    missing: Missing = "error"
    """What a live broker without a rack means."""
    map: Annotated[Mapping[str, RackPath], OMITTED] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Plain name of a rack -> its path, while brokers change from plain names to paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerPolicy:
    """Brokers with rules of their own; ids in rising order."""

    drain: Ids = ()
    """Brokers that must hold no replica."""
    exclude: Ids = ()
    """Brokers that keep the replicas that they have and take no new ones."""
    no_lead: Ids = ()
    """Brokers that must not be preferred leader, unless no other replica may lead."""
    weights: Mapping[int, Weight] = field(default_factory=lambda: MappingProxyType({}))
    """Broker id -> its share of the replicas and leaders; a broker that is absent has weight 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancePolicy:
    """Whether loads are even."""

    replicas: Annotated[Literal["even", "off"] | Slack, Says("even, off or { slack = N }")] = "even"
    """Whether replicas are even over the brokers: the sum of load^2 / weight is the least."""
    leaders: Literal["even", "keep", "off"] = "even"
    """Whether preferred leaders are even; `keep` and `off` keep a leader that stays a replica."""
    failover: bool = False
    """Whether the second replicas of the lists, which lead next, are even as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPolicy:
    """What a plan minimises, and where its prices are."""

    minimise: Literal["moves", "bytes", "usd"] = "moves"
    """What a plan minimises: replicas copied, bytes copied, or dollars of the copies."""
    prices: FilledText | None = None
    """Path of a price table, from the folder of the policy file."""
    provider: FilledText | None = None
    """Provider whose rows of the price table are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPolicy:
    """What an audit checks, and when it fails."""

    fail_on: Literal["error", "warning", "info", "never"] = "warning"
    """The least severity that counts as a difference."""
    rack_loss: RackLoss | None = None
    """Levels at which the loss of one rack is judged; absent: the finest level."""
    ignore: Texts = ()
    """Names of rules that are not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackCount:
    """The number of replicas of each partition in one rack."""

    rack: str
    """Path of the rack, of any level."""
    min: int = 0
    """Fewest replicas."""
    max: int | None = None
    """Most replicas; absent: no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicBlock:
    """Rules of the topics that match one of the globs; the last block that has a key wins."""

    match: Texts
    """Globs of topic names: `*`, `?`, `[..]`."""
    spread: Mapping[str, Spread] = field(default_factory=lambda: MappingProxyType({}))
    """Level -> how the replicas of a partition lie over the racks of that level."""
    topic_spread: Literal["off", "even"] | None = None
    """Whether all replicas of the topic together are even over the brokers."""
    replication: OneOrMore | None = None
    """Replicas of each partition; absent: each keeps its number."""
    count: Annotated[tuple[RackCount, ...], Once("rack", by="rack"), Says("a list")] | None = None
    """How many replicas of each partition lie in which racks."""
    count_others: Literal["none", "any"] | None = None
    """Whether racks that `count` does not name may hold replicas."""
    pin: Mapping[PartitionNumber, Ids] | None = None
    """Partition number -> brokers that must hold a replica of it."""
    leader_racks: RackTexts | None = None
    """Racks of preferred leaders: the first one that holds a replica of the partition."""
    exclude: bool | None = None
    """Whether plans leave the topics alone: nothing moves, and replicas and leaders are loads."""

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
    exclude: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policy of a cluster; `Policy()` has every default."""

    racks: RackPolicy = field(default_factory=RackPolicy)
    """Levels of the racks, and brokers without a rack."""
    brokers: BrokerPolicy = field(default_factory=BrokerPolicy)
    """Brokers with rules of their own."""
    balance: BalancePolicy = field(default_factory=BalancePolicy)
    """Whether loads are even."""
    cost: CostPolicy = field(default_factory=CostPolicy)
    """What a plan minimises."""
    audit: AuditPolicy = field(default_factory=AuditPolicy)
    """What an audit checks."""
    topics: tuple[TopicBlock, ...] = ()
    """Blocks of rules, each for the topics that it matches."""

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
            exclude=_last([block.exclude for block in matching], None) is True,
        )


def _last(said: Sequence[T | None], default: T) -> T:
    """The last value that was said."""
    return next((value for value in reversed(said) if value is not None), default)


DEFAULT_POLICY = Policy()
"""Every level even, balance even, nothing else."""
