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
    from collections.abc import Mapping, Sequence

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
    """Repair the partitions that break a rule, and change nothing else."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Repair the partitions that break a rule, and make the loads fair."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Remove all replicas from these brokers."""

    brokers: BrokerIds
    """Ids of the brokers to empty."""
    rebalance: bool = False
    """Whether to make the loads of the other brokers fair as well."""
    repair: Annotated[bool, OMITTED] = False
    """Whether to repair the partitions that the goal does not touch as well."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace brokers: each new broker takes the place of the old one in every list."""

    pairs: tuple[BrokerPair, ...]
    """(old, new) broker ids."""
    repair: Annotated[bool, OMITTED] = False
    """Whether to repair the partitions that the goal does not touch as well, on any brokers."""


@dataclass(frozen=True, slots=True)
class SetReplication:
    """Set the number of replicas of topics."""

    by_topic: tuple[GlobReplication, ...]
    """(glob, replicas) of topics; later pairs win."""
    rebalance: bool = False
    """Whether to make the loads fair as well."""
    repair: Annotated[bool, OMITTED] = False
    """Whether to repair the partitions that the goal does not touch as well."""


@dataclass(frozen=True, slots=True)
class Add:
    """Add brokers that join empty and need not exist yet; the loads end fair."""

    brokers: tuple[BrokerRack, ...]
    """(id, rack) of the new brokers."""
    repair: Annotated[bool, OMITTED] = False
    """Whether to repair the partitions that break a rule as well."""


@dataclass(frozen=True, slots=True)
class Leaders:
    """Choose the leaders again; every partition keeps its brokers."""


def is_limited(goal: Goal) -> bool:
    """Whether a plan leaves broken rules as they are where the goal changes nothing."""
    return isinstance(goal, Drain | Replace | SetReplication | Add) and not goal.repair


def balances_rest(goal: Goal) -> bool:
    """Whether partitions that a limited goal does not touch may move for fair loads."""
    return isinstance(goal, Add) or (isinstance(goal, Drain | SetReplication) and goal.rebalance)


Goal: TypeAlias = Repair | Balance | Drain | Replace | SetReplication | Add | Leaders
"""What a plan has to reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The replica list of one partition before and after."""

    topic: TopicName
    partition: PartitionNumber
    topic_id: NameText | None
    """Kafka's id of the topic; null if unknown."""
    before: BrokerIds
    """Broker ids before the move, preferred leader first."""
    after: BrokerIds
    """Broker ids after the move, preferred leader first."""
    bytes: Bytes | None
    """Bytes of one replica; null if unknown."""
    cross_bytes: Bytes | None = None
    """Bytes copied from another rack than the leader's is in; null if unknown."""
    usd_nano: NanoDollars | None = None
    """Nano-dollars of the copies; null if unknown."""
    reasons: tuple[NameText, ...] = ()
    """Names of the rules that the move repairs."""

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
    """Brokers that together hold `total` replicas, each between its `low` and its `high`."""

    brokers: BrokerIds
    """Broker ids, ascending."""
    low: ReplicaCounts
    """Fewest replicas, aligned with `brokers`."""
    high: ReplicaCounts
    """Most replicas, aligned with `brokers`."""
    total: Replicas
    """Replicas of all brokers of the group together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A proof that brokers must hold a number of replicas in every plan."""

    brokers: BrokerIds
    """Broker ids, ascending."""
    least: Replicas
    """The number of replicas that the brokers hold at least, in every plan."""
    reason: str
    """Why they must hold that many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fair:
    """The fair loads: groups of brokers, and the cuts that prove that no loads are fairer."""

    groups: tuple[BrokerGroup, ...] = ()
    """Groups of brokers; empty if replicas need not be even."""
    cuts: tuple[Cut, ...] = ()
    """The cuts that prove that no loads are fairer."""
    topic_caps: Mapping[str, Mapping[int, Replicas]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Topic -> broker id -> most replicas of the topic."""
    leader_groups: tuple[BrokerGroup, ...] = ()
    """The same as `groups` for preferred leaderships."""

    def loads(self) -> FairLoads:
        """The fair loads as ranges by broker id, in the form that an audit compares."""
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
    """The dual price of one more replica of a topic on a broker that has a cap for the topic."""

    topic: TopicName
    broker: BrokerId
    cap: Replicas
    """Most replicas of the topic on the broker."""
    price: Annotated[int, Between(wanted="a price from 0 on")]
    """Dual price, 0 or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The proof that no plan costs less than `lower_bound`.

    The dual prices are added up without a solver.
    """

    objective: NameText
    """The minimised quantity: `moves`, `bytes`, `usd`, `replication` or `leaders`."""
    unit: NameText
    """The unit of the prices."""
    groups: tuple[BrokerGroup, ...]
    cuts: tuple[Cut, ...]
    prices: Mapping[int, Annotated[Signed, Says("a price")]]
    """Broker id -> dual price of a replica on it, of any sign."""
    topic_prices: tuple[TopicPrice, ...] = ()
    """The dual prices of capped topics that are not 0."""
    lower_bound: Annotated[Signed, Says("a lower bound")]
    """The least cost of any legal plan with fair loads."""
    weight: Annotated[Count, OMITTED] = 0
    """The weight of a move in a later objective: the prices prove a bound of both together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """The steady cost of replication: what followers copy from leaders in other racks."""

    cross_bytes_per_s: BytesPerSecond
    """Bytes per second that followers copy from a leader in another rack."""
    usd_nano_per_day: NanoDollars | None = None
    """Nano-dollars per day; null without prices."""
    unknown_rates: Count = 0
    """Partitions whose rate is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlyChange:
    """What a plan adds to the traffic across racks in 30 days; a negative value is a saving."""

    replication_cross_bytes: Signed | None = None
    """Bytes that followers copy from a leader in another rack, after less before."""
    replication_usd_nano: Signed | None = None
    """Nano-dollars of these bytes; null if unknown."""
    replication_reason: str | None = None
    """Why a value of replication is null, and what would make it known."""
    unknown_rates: Count = 0
    """Partitions whose replication changes by an unknown amount."""
    reads_usd_nano: Signed | None = None
    """Nano-dollars of what consumers read from another rack, after less before; null if unknown."""
    reads_reason: str | None = None
    """Why the dollars of reads are null, and what would make them known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over the moves of a plan."""

    moves: Count = 0
    """Replicas added."""
    repair_moves: Count = 0
    """Replicas added that the rules alone force."""
    balance_moves: Count = 0
    """Replicas added for even loads."""
    partitions: Count = 0
    """Partitions whose set of brokers changes."""
    partitions_at_least: Count = 0
    """Partitions whose set changes in every plan of this cost."""
    leader_changes: Count = 0
    """Partitions with another first broker."""
    order_only: Count = 0
    """Partitions with the same set in another order."""
    bytes: Count = 0
    """Bytes to copy, of known sizes."""
    unknown_sizes: Count = 0
    """Partitions of unknown size."""
    cross_bytes: Count = 0
    """Bytes to copy from another rack, of known sizes."""
    usd_nano: NanoDollars | None = None
    """Nano-dollars of the copies; null without prices."""
    steady_before: Steady | None = None
    """The steady cost of replication before the plan."""
    steady_after: Steady | None = None
    """The steady cost of replication after the plan."""
    goal_moves: Annotated[Count | None, OMITTED] = None
    """Replicas added for the goal itself; absent if it names no brokers and no topics."""
    monthly: Annotated[MonthlyChange | None, OMITTED] = None
    """The change of the monthly bill; absent in plans of older versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationVerdict:
    """The price of replication after a plan, among all plans with as many moves.

    In nano-dollars per day, from the leaders that are expected before the sets are chosen.
    """

    cost: Annotated[Signed, Says("a cost")]
    """The price after the plan."""
    lower_bound: Annotated[Signed, Says("a lower bound")]
    """The least price after any legal plan with fair loads and as many moves."""

    @property
    def gap(self) -> int:
        """`cost` less `lower_bound`."""
        return self.cost - self.lower_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of a check of a plan."""

    cost: Annotated[Signed, Says("a cost")]
    """The cost of the plan, in the unit of its certificate."""
    lower_bound: Annotated[Signed, Says("a lower bound")]
    """The least cost of any legal plan with fair loads."""
    gap: Annotated[Signed, Says("a gap")]
    """`cost` less `lower_bound`."""
    is_legal: bool
    """Whether every set keeps the rules."""
    is_fair: bool
    """Whether the loads are fair."""
    problems: tuple[str, ...] = ()
    """One sentence per fault; empty if there is none."""
    is_heuristic: bool = False
    """Whether the solver was stopped before it was done."""
    replication: Annotated[ReplicationVerdict | None, OMITTED] = None
    """The price of replication; absent where it is no objective (no rates or no prices)."""

    @property
    def is_at_bound(self) -> bool:
        """Whether the plan is legal and fair, and its cost is the lower bound."""
        return self.is_legal and self.is_fair and self.gap == 0

    @property
    def is_proved(self) -> bool:
        """Whether the plan is legal and fair, and no plan is cheaper, replication included."""
        return (
            self.is_at_bound
            and not (self.replication and self.replication.gap)
            and not self.problems
        )

    @property
    def text(self) -> str:
        """`proved`, `gap n` or `heuristic n`."""
        if self.is_proved:
            return "proved"
        return f"{'heuristic' if self.is_heuristic else 'gap'} {self.gap}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftViolation:
    """A rule that partitions break after the plan."""

    rule: NameText
    """Name of the rule."""
    partitions: Count
    """Number of partitions that break it."""
    examples: Annotated[tuple[NameText, ...], OMITTED] = ()
    """The first of them: `orders-4`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """What a plan leaves as it is."""

    partitions: Count
    """Number of frozen partitions: their lists stay, and their replicas count as loads.

    Those that the goal does not touch, those of excluded topics, legal ones on cordoned brokers;
    of a plan for leaders those with a replica on a broker that the snapshot does not list.
    """
    broken: Annotated[tuple[LeftViolation, ...], OMITTED] = ()
    """The rules that partitions break after the plan; `plan repair` repairs them."""


class SeenBroker(NamedTuple):
    """A broker as the plan found it."""

    rack: Rack | None
    is_fenced: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFrom:
    """The inputs of a plan; a plan is rejected when they have changed."""

    snapshot_sha256: Sha256OrEmpty
    """SHA-256 of the canonical snapshot; empty if no snapshot was written."""
    brokers: Annotated[Mapping[BrokerId, SeenBroker], Rows("id", hint=NEW_PLAN)]
    """Broker id -> the broker as the plan found it."""
    policy: str
    """The text of the policy, or its canonical JSON."""
    policy_sha256: Sha256
    topics: Globs = ("*",)
    """Globs of the topics that were planned."""
    partitions: Annotated[
        Mapping[TopicName, PartitionCount], Rows("topic", "count", NEW_PLAN), OMITTED
    ] = field(default_factory=lambda: MappingProxyType({}))
    """Topic with a move -> its number of partitions; other topics are not compared."""
    prices: Annotated[str, Says("a price table"), OMITTED] = ""
    """The price table behind the dollars; empty without prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Moves in the order of execution, the inputs they were made from, and the proof."""

    cluster_id: NameText | None
    made_from: MadeFrom
    goal: Goal
    minimise: Minimise
    solver: NameText
    """The method that found the plan, with the version of its solver."""
    moves: Sequence[Move]
    """The moves in the order of execution."""
    totals: Totals
    fair: Fair
    certificates: tuple[Certificate, ...]
    """The certificates of the replica sets, of the leaders, and of the price of replication."""
    verdict: Verdict
    sha256: Sha256 = ""
    """SHA-256 of the canonical plan file without this field; empty until it is written."""
    hypothetical: bool = False
    """Whether the plan was made from a hypothetical cluster."""
    left_alone: Annotated[LeftAlone | None, OMITTED] = None
    """What the plan leaves as it is; absent if no partition is frozen or breaks a rule."""
    max_moves: Annotated[Count | None, OMITTED] = None
    """Most replicas that `moves` may add; absent without a limit."""
    later: Annotated[Sequence[Move], OMITTED] = ()
    """Moves that do not fit `max_moves`, in the order of execution; `apply` does not make them.

    Totals, fair loads, certificates and verdict are about `moves` and `later` together.
    """

    def certificate(self, objective: str) -> Certificate | None:
        """The first certificate of an objective; None if there is none."""
        return next((one for one in self.certificates if one.objective == objective), None)
