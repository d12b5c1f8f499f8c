"""The planner's values: goals, moves, fair loads, certificates, plans.

A `Goal` states what to reach, a `Plan` how, and its certificates that no plan costs less:

```
Drain((7,))  ->  Plan  moves         orders-4  1,2,7 -> 1,2,3     drained-broker
                       fair          what each broker may hold, and why not less
                       certificates  a price per broker; their bound is the least any plan costs
                       verdict       cost 1, lower bound 1, gap 0
```

All values are frozen. Brokers are ids, sizes are bytes, money is nano-dollars, `None` is unknown.
The first replica of a list is the preferred leader.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias

from rackwise.core.json.declare import (
    MAX_ID,
    OMITTED,
    Between,
    BrokerId,
    Glob,
    ReplicationFactor,
    Rows,
    Says,
    TopicName,
)
from rackwise.core.model import FairLoads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.json.declare import (
        BrokerIds,
        Bytes,
        BytesPerSecond,
        Count,
        Globs,
        NameText,
        NanoDollars,
        PartitionNumber,
        ReplicaCounts,
        Replicas,
        Sha256,
        Sha256OrEmpty,
        Signed,
    )
    from rackwise.core.racks import Rack

Minimise: TypeAlias = Literal["moves", "bytes", "usd"]
"""What a plan makes small: replicas copied, bytes copied, or what copying them costs."""

Solver: TypeAlias = Literal["auto", "flow"]
"""The algorithm that finds the sets; both find the same cost.

`auto` plans each rack alone where that is exact; `flow` always solves one network of all racks.
"""

BrokerPair: TypeAlias = Annotated[tuple[BrokerId, BrokerId], Says("a pair of broker ids")]
GlobReplication: TypeAlias = Annotated[
    tuple[Glob, ReplicationFactor], Says("a pair of glob and replicas")
]
BrokerRack: TypeAlias = Annotated["tuple[BrokerId, Rack]", Says("a pair of broker id and rack")]
PartitionCount: TypeAlias = Annotated[int, Between(1, MAX_ID, "a number of partitions")]
NEW_PLAN = "make a new plan; change the policy instead of the plan file"
"""The hint for a plan file that somebody edited."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Repair what breaks a rule, and change nothing else."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Repair what breaks a rule, and make the loads fair."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Empty these brokers; `rebalance`: and make the loads of the others fair."""

    brokers: BrokerIds
    rebalance: bool = False


@dataclass(frozen=True, slots=True)
class Replace:
    """`(old, new)` pairs: each new broker takes the old one's place in every list."""

    pairs: tuple[BrokerPair, ...]


@dataclass(frozen=True, slots=True)
class SetReplication:
    """`(glob, replicas)` of topics, later pairs win; `rebalance`: and make the loads fair."""

    by_topic: tuple[GlobReplication, ...]
    rebalance: bool = False


@dataclass(frozen=True, slots=True)
class Add:
    """`(id, rack)` of brokers that join empty, and need not be there yet; the loads end fair."""

    brokers: tuple[BrokerRack, ...]


@dataclass(frozen=True, slots=True)
class Leaders:
    """Choose the leaders again; every partition keeps its brokers."""


Goal: TypeAlias = Repair | Balance | Drain | Replace | SetReplication | Add | Leaders
"""What a plan has to reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One partition's list before and after.

    `bytes`: of one replica, None = not known; `cross_bytes`: copied from another rack than the
    leader's; `usd_nano`: for copying, None = not known; `reasons`: names of the rules it mends.
    """

    topic: TopicName
    partition: PartitionNumber
    topic_id: NameText | None
    before: BrokerIds
    after: BrokerIds
    bytes: Bytes | None
    cross_bytes: Bytes | None = None
    usd_nano: NanoDollars | None = None
    reasons: tuple[NameText, ...] = ()

    @property
    def added(self) -> tuple[int, ...]:
        """Brokers of `after` that are not in `before`, in list order."""
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def removed(self) -> tuple[int, ...]:
        """Brokers of `before` that are not in `after`, in list order."""
        return tuple(broker for broker in self.before if broker not in self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerGroup:
    """Brokers that together hold `total`, each between its `low` and its `high`.

    `brokers`: ids, rising; `low`, `high`: aligned with `brokers`.
    """

    brokers: BrokerIds
    low: ReplicaCounts
    high: ReplicaCounts
    total: Replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Whatever the plan, `brokers` (ids, rising) hold `least` replicas or more; `reason`: why."""

    brokers: BrokerIds
    least: Replicas
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fair:
    """What is fair: groups of brokers and the cuts that show that nothing fairer exists.

    No `groups`: replicas need not be even. `topic_caps`: topic -> broker id -> most replicas of it.
    `leader_groups`: the same for preferred leaderships.
    """

    groups: tuple[BrokerGroup, ...] = ()
    cuts: tuple[Cut, ...] = ()
    topic_caps: Mapping[str, Mapping[int, Replicas]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    leader_groups: tuple[BrokerGroup, ...] = ()

    def loads(self) -> FairLoads:
        """The same as ranges by broker id, which an audit compares with."""
        low, high = _ranges(self.groups)
        leader_low, leader_high = _ranges(self.leader_groups)
        return FairLoads(
            low=low,
            high=high,
            leader_low=leader_low,
            leader_high=leader_high,
            topic_caps=self.topic_caps,
        )


def _ranges(groups: tuple[BrokerGroup, ...]) -> tuple[dict[int, int], dict[int, int]]:
    low: dict[int, int] = {}
    high: dict[int, int] = {}
    for group in groups:
        low.update(zip(group.brokers, group.low, strict=True))
        high.update(zip(group.brokers, group.high, strict=True))
    return low, high


class TopicPrice(NamedTuple):
    """What one more replica of a topic on a broker is worth, where at most `cap` may lie there."""

    topic: TopicName
    broker: BrokerId
    cap: Replicas
    price: Annotated[int, Between(wanted="a price from 0 on")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Why no plan costs less than `lower_bound`: prices that anyone can add up without a solver.

    `objective`: `moves`, `bytes`, `usd` or `leaders`; `unit`: of the prices. `prices`: broker id ->
    price of a replica on it, any sign; `topic_prices`: those that are not 0.
    """

    objective: NameText
    unit: NameText
    groups: tuple[BrokerGroup, ...]
    cuts: tuple[Cut, ...]
    prices: Mapping[int, Annotated[Signed, Says("a price")]]
    topic_prices: tuple[TopicPrice, ...] = ()
    lower_bound: Annotated[Signed, Says("a lower bound")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """What replication costs day by day: bytes that followers copy from a leader in another rack.

    `usd_nano_per_day`: None without prices. `unknown_rates`: partitions of unknown rate.
    """

    cross_bytes_per_s: BytesPerSecond
    usd_nano_per_day: NanoDollars | None = None
    unknown_rates: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over the moves.

    `moves`: replicas added; of these the rules alone force `repair_moves`, and evenness asks for
    `balance_moves`. `partitions`: whose set changes, `partitions_at_least`: in any plan of this
    cost. `leader_changes`: other first broker; `order_only`: same set, other order. `bytes`,
    `cross_bytes`: of known sizes; `usd_nano`: None without prices. `unknown_sizes`: partitions.
    """

    moves: Count = 0
    repair_moves: Count = 0
    balance_moves: Count = 0
    partitions: Count = 0
    partitions_at_least: Count = 0
    leader_changes: Count = 0
    order_only: Count = 0
    bytes: Count = 0
    unknown_sizes: Count = 0
    cross_bytes: Count = 0
    usd_nano: NanoDollars | None = None
    steady_before: Steady | None = None
    steady_after: Steady | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check of a plan found; `problems`: one sentence each, empty where all is right.

    `gap` is `cost` less `lower_bound`. `is_heuristic`: the solver was stopped before it was done.
    """

    cost: Annotated[Signed, Says("a cost")]
    lower_bound: Annotated[Signed, Says("a lower bound")]
    gap: Annotated[Signed, Says("a gap")]
    is_legal: bool
    is_fair: bool
    problems: tuple[str, ...] = ()
    is_heuristic: bool = False

    @property
    def is_proved(self) -> bool:
        """Legal, fair, and nothing cheaper exists."""
        return self.is_legal and self.is_fair and self.gap == 0 and not self.problems

    @property
    def text(self) -> str:
        """`proved`, `gap n` or `heuristic n`."""
        if self.is_proved:
            return "proved"
        return f"{'heuristic' if self.is_heuristic else 'gap'} {self.gap}"


class SeenBroker(NamedTuple):
    """A broker as a plan found it."""

    rack: Rack | None
    is_fenced: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFrom:
    """What a plan was made from; it is worth nothing once that has changed.

    `snapshot_sha256`: of the canonical snapshot, empty where none was written. `policy`: its text,
    canonical JSON where the caller gives none. `topics`: globs of those that were looked at.
    `partitions`: topic that has a move -> how many partitions it had; a topic that is not in it is
    not compared. `prices`: the table that dollars were worked out with, empty where none were.
    """

    snapshot_sha256: Sha256OrEmpty
    brokers: Annotated[Mapping[BrokerId, SeenBroker], Rows("id", hint=NEW_PLAN)]
    policy: str
    policy_sha256: Sha256
    topics: Globs = ("*",)
    partitions: Annotated[
        Mapping[TopicName, PartitionCount], Rows("topic", "count", NEW_PLAN), OMITTED
    ] = field(default_factory=lambda: MappingProxyType({}))
    prices: Annotated[str, Says("a price table"), OMITTED] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Moves in the order in which they are applied, what they were made from, and the proof.

    `solver`: the path that ran and its version. `certificates`: of the replica sets, then of the
    leaders. `sha256`: of the canonical plan file without that field, empty until written.
    `hypothetical`: made from a cluster that is not there.
    """

    cluster_id: NameText | None
    made_from: MadeFrom
    goal: Goal
    minimise: Minimise
    solver: NameText
    moves: tuple[Move, ...]
    totals: Totals
    fair: Fair
    certificates: tuple[Certificate, ...]
    verdict: Verdict
    sha256: Sha256 = ""
    hypothetical: bool = False
