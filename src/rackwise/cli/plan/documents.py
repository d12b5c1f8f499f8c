"""The documents of `rackwise plan --price-rules`, `proof`, `explain`, `diff` and `what-if`.

`CODEC` writes plans and totals as a plan file has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from rackwise.adapters.files.plan.format import CODEC as PLAN_CODEC
from rackwise.adapters.files.plan.format import PLAN
from rackwise.cli.audit.documents import RackLossDocument
from rackwise.cli.documents import FindingDocument
from rackwise.core.json.codec import Codec
from rackwise.core.planning.model import LeftAlone, Plan, ReplicationVerdict, Totals
from rackwise.core.planning.reasons.model import PartitionReason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.json.declare import Signed


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCostDocument:
    """What one soft rule of the policy costs."""

    rule: str
    """Name of the rule in the policy."""
    with_: Totals
    """Totals of the plan."""
    without: Totals
    """Totals of the plan that is possible without the rule."""
    sentence: str
    """The difference, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedPlanDocument:
    """A plan, and what each soft rule of its policy costs."""

    format: Literal["rackwise.priced-plan/1"] = "rackwise.priced-plan/1"
    plan: Plan
    """The plan, as `rackwise plan --out` writes it."""
    rules: tuple[RuleCostDocument, ...]
    """The soft rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofDocument:
    """Whether a plan is legal, fair and minimal."""

    format: Literal["rackwise.proof/1"] = "rackwise.proof/1"
    plan_sha256: str
    """SHA-256 of the plan."""
    snapshot_sha256: str
    """SHA-256 of the snapshot that the plan was built from."""
    policy_sha256: str
    """SHA-256 of the text of the policy in the plan."""
    policy_settings: tuple[str, ...]
    """The settings of this policy that differ from the default policy, as `key = value`."""
    minimise: str
    """What the plan minimises: `moves`, `bytes` or `usd`."""
    moves: int
    """Moves that the plan makes, without those for later."""
    later: int
    """Moves that it leaves for later (`--max-moves`); cost and proof include them."""
    cost: Signed
    """What the plan costs: replicas, bytes, nano-dollars or leader changes."""
    lower_bound: Signed
    """A cost below which no legal and fair plan exists."""
    gap: Signed
    """The cost above the lower bound."""
    replication: ReplicationVerdict | None
    """The price of replication among plans with as many moves; null if it is no objective."""
    is_legal: bool
    """Whether every set follows the rules, or breaks none more than before if it is left alone."""
    left_alone: LeftAlone | None
    """The partitions that the plan leaves as they are, and the rules that stay broken."""
    is_fair: bool
    """Whether no fairer loads exist."""
    is_proved: bool
    """Whether the plan is legal, fair and minimal."""
    verdict: str
    """The verdict in a few words."""
    problems: tuple[str, ...]
    """What is wrong, as sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReasonDocument:
    """Why a plan moves a partition, or leaves it."""

    format: Literal["rackwise.partition-reason/1"] = "rackwise.partition-reason/1"
    plan_sha256: str
    """SHA-256 of the plan."""
    reason: PartitionReason
    """The rules, loads, targets and costs."""
    sentences: tuple[str, ...]
    """The same as sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaListsDocument:
    """The replica lists of a partition in one file."""

    after: tuple[int, ...]
    """The list; of a plan the one after the move."""
    before: tuple[int, ...] | None
    """The list before the move; null if the file is no plan."""
    leader: int | None
    """The current leader; null without one, or if the file is no snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDiffDocument:
    """A partition that differs."""

    topic: str
    """Topic of the partition."""
    partition: int
    """Number of the partition."""
    what: str
    """What differs: `set`, `order`, `leader`, `before` or `missing`."""
    a: ReplicaListsDocument | None
    """Its lists in A; null if A does not contain it."""
    b: ReplicaListsDocument | None
    """Its lists in B; null if B does not contain it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStateDocument:
    """A broker in one file."""

    rack: str | None
    """Its rack; null without one."""
    is_live: bool
    """Whether it is live."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDiffDocument:
    """A broker that differs."""

    id: int
    """Id of the broker."""
    what: Literal["missing", "rack", "live"]
    """What differs."""
    a: BrokerStateDocument | None
    """The broker in A; null if A does not contain it."""
    b: BrokerStateDocument | None
    """The broker in B; null if B does not contain it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalDiffDocument:
    """One total of both plans."""

    a: int | None
    """The total in A; null if it is unknown."""
    b: int | None
    """The total in B; null if it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNotComparedDocument:
    """A rule that only one of two audits checked, or that they did not check for other reasons."""

    rule: str
    """Name of the rule."""
    a: str | None
    """Why the first audit did not check it, or not everywhere; null if it did."""
    b: str | None
    """Why the second audit did not check it, or not everywhere; null if it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffDocument:
    """The differences of two snapshots, plans or reassignments."""

    format: Literal["rackwise.diff/1"] = "rackwise.diff/1"
    a: Literal["snapshot", "plan", "reassignment"]
    """Kind of file A."""
    b: Literal["snapshot", "plan", "reassignment"]
    """Kind of file B."""
    is_equal: bool
    """Whether nothing differs, and each rule was compared."""
    partitions: tuple[PartitionDiffDocument, ...]
    """Partitions that differ."""
    brokers: tuple[BrokerDiffDocument, ...]
    """Brokers that differ."""
    fixed: tuple[FindingDocument, ...] | None
    """Findings that only A has, of rules that were checked in B; null unless both are snapshots."""
    introduced: tuple[FindingDocument, ...] | None
    """Findings that only B has, of rules that were checked in A; null unless both are snapshots."""
    maybe_fixed: tuple[FindingDocument, ...] | None
    """Findings that only A has, of rules that were not checked in B; null as `fixed`."""
    maybe_introduced: tuple[FindingDocument, ...] | None
    """Findings that only B has, of rules that were not checked in A; null as `fixed`."""
    not_compared: tuple[RuleNotComparedDocument, ...] | None
    """Rules that were checked in one file only, or not checked for other reasons; null as `fixed`.
    """
    not_checked: Mapping[str, str] | None
    """Rule that was checked in neither file -> the reason; null as `fixed`."""
    totals: Mapping[str, TotalDiffDocument]
    """Total -> its values in two plans, equal ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfSideDocument:
    """A cluster before or after a change."""

    findings: Mapping[str, int]
    """Rule -> number of its findings."""
    not_checked: Mapping[str, str]
    """Rule -> why it was not checked."""
    blast_radius: tuple[RackLossDocument, ...]
    """The loss of each rack."""
    plan: Totals | None
    """Totals of the plan that balances the cluster; null if there is no plan."""
    no_plan: str | None
    """Why there is no plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfDocument:
    """A cluster before and after a change."""

    format: Literal["rackwise.what-if/1"] = "rackwise.what-if/1"
    cluster_id: str | None
    """Id of the cluster; null if it is not known."""
    taken_at: str
    """Time at which the cluster was read, UTC."""
    changes: tuple[str, ...]
    """The changes, in the order in which they apply."""
    before: WhatIfSideDocument
    """The cluster without the changes."""
    after: WhatIfSideDocument
    """The cluster with the changes."""
    fixed: tuple[FindingDocument, ...]
    """Findings that the changes remove."""
    introduced: tuple[FindingDocument, ...]
    """Findings that the changes add."""
    maybe_fixed: tuple[FindingDocument, ...]
    """Findings before the changes, of rules that were not checked after them."""
    maybe_introduced: tuple[FindingDocument, ...]
    """Findings after the changes, of rules that were not checked before them."""
    not_compared: tuple[RuleNotComparedDocument, ...]
    """Rules that were checked on one side only; `a` is before the changes, `b` after them."""


CODEC: Final = Codec(forms={Plan: PLAN, Totals: PLAN_CODEC.form(Totals)})
