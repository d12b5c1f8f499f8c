"""The planner's values: what is wanted, what moves, what is fair, what proves it.

A `Goal` says what to reach, a `Plan` how, and its certificates that less would not do:

```
Drain((7,))  ->  Plan  moves         orders-4  1,2,7 -> 1,2,3     drained-broker
                       fair          what each broker may hold, and why not less
                       certificates  a price per broker; their bound is the least any plan costs
                       verdict       cost 1, lower bound 1, gap 0
```

All are frozen. Brokers are ids, sizes are bytes, money is nano-dollars, `None` means not known.
Lists of replicas run preferred leader first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from rackwise.core.model import FairLoads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.racks import Rack

Minimise: TypeAlias = Literal["moves", "bytes", "usd"]
"""What a plan makes small: replicas copied, bytes copied, or what copying them costs."""

Solver: TypeAlias = Literal["auto", "flow"]
"""The algorithm that finds the sets; both find the same cost.

`auto` plans each rack alone where that is exact; `flow` always solves one network of all racks.
"""


@dataclass(frozen=True, slots=True)
class Repair:
    """Mend what breaks a rule, and nothing else."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Mend what breaks a rule, and make the loads fair."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Empty these brokers; `rebalance`: and make the loads of the others fair."""

    brokers: tuple[int, ...]
    rebalance: bool = False


@dataclass(frozen=True, slots=True)
class Replace:
    """`(old, new)` pairs: each new broker takes the old one's place in every list."""

    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SetReplication:
    """`(glob, replicas)` of topics, later pairs win; `rebalance`: and make the loads fair."""

    by_topic: tuple[tuple[str, int], ...]
    rebalance: bool = False


@dataclass(frozen=True, slots=True)
class Add:
    """`(id, rack)` of brokers that join empty, and need not be there yet; the loads end fair."""

    brokers: tuple[tuple[int, Rack], ...]


@dataclass(frozen=True, slots=True)
class Leaders:
    """Choose leaders anew; every partition keeps its brokers."""


Goal: TypeAlias = Repair | Balance | Drain | Replace | SetReplication | Add | Leaders
"""What a plan is to reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One partition's list before and after.

    `bytes`: of one replica, None = not known; `cross_bytes`: copied from another rack than the
    leader's; `usd_nano`: for copying, None = not known; `reasons`: names of the rules it mends.
    """

    topic: str
    partition: int
    topic_id: str | None
    before: tuple[int, ...]
    after: tuple[int, ...]
    bytes: int | None
    cross_bytes: int | None = None
    usd_nano: int | None = None
    reasons: tuple[str, ...] = ()

    @property
    def added(self) -> tuple[int, ...]:
        """Brokers of `after` that are not in `before`, in list order."""
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def removed(self) -> tuple[int, ...]:
        """Brokers of `before` that are not in `after`, in list order."""
        return tuple(broker for broker in self.before if broker not in self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Brokers that together hold `total`, each between its `low` and its `high`.

    `brokers`: ids, rising; `low`, `high`: aligned with `brokers`.
    """

    brokers: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Whatever the plan, `brokers` (ids, rising) hold `least` replicas or more; `reason`: why."""

    brokers: tuple[int, ...]
    least: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fair:
    """What is fair: groups of brokers and the cuts that show that nothing fairer exists.

    No `groups`: replicas need not be even. `topic_caps`: topic -> broker id -> most replicas of it.
    `leader_groups`: the same for preferred leaderships.
    """

    groups: tuple[Group, ...] = ()
    cuts: tuple[Cut, ...] = ()
    topic_caps: Mapping[str, Mapping[int, int]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    leader_groups: tuple[Group, ...] = ()

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


def _ranges(groups: tuple[Group, ...]) -> tuple[dict[int, int], dict[int, int]]:
    low: dict[int, int] = {}
    high: dict[int, int] = {}
    for group in groups:
        low.update(zip(group.brokers, group.low, strict=True))
        high.update(zip(group.brokers, group.high, strict=True))
    return low, high


class TopicPrice(NamedTuple):
    """What one more replica of a topic on a broker is worth, where at most `cap` may lie there."""

    topic: str
    broker: int
    cap: int
    price: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Why no plan costs less than `lower_bound`: prices that anyone can add up without a solver.

    `objective`: `moves`, `bytes`, `usd` or `leaders`; `unit`: of the prices. `prices`: broker id ->
    price of a replica on it, any sign; `topic_prices`: those that are not 0.
    """

    objective: str
    unit: str
    groups: tuple[Group, ...]
    cuts: tuple[Cut, ...]
    prices: Mapping[int, int]
    topic_prices: tuple[TopicPrice, ...] = ()
    lower_bound: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """What replication costs day by day: bytes that followers copy from a leader in another rack.

    `usd_nano_per_day`: None without prices. `unknown_rates`: partitions of unknown rate.
    """

    cross_bytes_per_s: int
    usd_nano_per_day: int | None = None
    unknown_rates: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over the moves.

    `moves`: replicas added; of these the rules alone force `repair_moves`, and evenness asks for
    `balance_moves`. `partitions`: whose set changes, `partitions_at_least`: in any plan of this
    cost. `leader_changes`: other first broker; `order_only`: same set, other order. `bytes`,
    `cross_bytes`: of known sizes; `usd_nano`: None without prices. `unknown_sizes`: partitions.
    """

    moves: int = 0
    repair_moves: int = 0
    balance_moves: int = 0
    partitions: int = 0
    partitions_at_least: int = 0
    leader_changes: int = 0
    order_only: int = 0
    bytes: int = 0
    unknown_sizes: int = 0
    cross_bytes: int = 0
    usd_nano: int | None = None
    steady_before: Steady | None = None
    steady_after: Steady | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check of a plan found; `problems`: one sentence each, empty where all is right.

    `gap` is `cost` less `lower_bound`. `is_heuristic`: the solver was stopped before it was done.
    """

    cost: int
    lower_bound: int
    gap: int
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
    not compared.
    `prices`: the table that dollars were worked out with, empty where none were.
    """

    snapshot_sha256: str
    brokers: Mapping[int, SeenBroker]
    policy: str
    policy_sha256: str
    topics: tuple[str, ...] = ("*",)
    partitions: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    prices: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Moves in the order in which they are applied, what they were made from, and the proof.

    `solver`: the path that ran and its version. `certificates`: of the replica sets, then of the
    leaders. `sha256`: of the canonical plan file without that field, empty until written.
    `hypothetical`: made from a cluster that is not there.
    """

    cluster_id: str | None
    made_from: MadeFrom
    goal: Goal
    minimise: Minimise
    solver: str
    moves: tuple[Move, ...]
    totals: Totals
    fair: Fair
    certificates: tuple[Certificate, ...]
    verdict: Verdict
    sha256: str = ""
    hypothetical: bool = False
