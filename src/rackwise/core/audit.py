"""Judge a cluster against a policy: which rules are broken, where, and what was not judged.

Goals, in order: every rule of `RULES` is judged or named in `not_checked` with the reason; a
finding says wanted and had in numbers; the same cluster gives the same findings in the same order,
however its brokers and partitions came; a million partitions take no longer than reading them.

Constraints. The checker is not the algorithm: this file and all it imports know nothing of
placing, planning or solving, so that they judge Rackwise's own plans as they judge anyone's. Fair
loads are therefore an argument. What is judged are the placed replicas: those that a running
reassignment adds (KIP-455) do not count yet, those that it removes still do.

The algorithm. The cluster becomes columns of small integers (`core.view`). Each rule is one
function in `core.rules` that yields findings as columns; distinct patterns are judged once, and no
loop runs over partitions. `Findings` sorts them and makes `Finding` values when asked.

```
rack tree /e (/e/a: 1 2, /e/b: 3)   /w (/w/a: 4 5, 5 is dead)        min.insync.replicas 2

orders-0  [1 3 4]                  fine
orders-1  [1 2 4]                  spread-even at zone: wanted /e/a 1, /e/b 1; had /e/a 2, /e/b 0
orders-2  [1 3 5], ISR [1 3]       dead-replica: wanted live brokers only; had 5
                                   under-replicated: wanted 3 in sync; had 2
                                   at-min-isr: wanted more than 2 in sync; had 2
```

Brokers without a rack. Under `racks.missing = "error"` each live one is a finding; the replicas on
them lie in no rack, so they neither break nor mend a spread. Under `one-rack` they are one more
rack, as in KRaft. Under `unaware` no spread rule is judged as long as a live broker has no rack.

What this does not do: look at a running broker, say which replica to move, or judge what no rule of
the policy asks for. Source: KIP-36, KIP-73, KIP-392, KIP-455, KIP-879.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.blast import RackLoss, blast_radius
from rackwise.core.errors import InvalidConfig
from rackwise.core.findings import RULES, Finding, Findings, Rule, Severity
from rackwise.core.model import FairLoads
from rackwise.core.policy import DEFAULT_POLICY, Policy, check_policy
from rackwise.core.rules import leaders, loads, loss, replicas, spread, sync, whole
from rackwise.core.text import counted, escaped
from rackwise.core.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from rackwise.core.findings import Batch
    from rackwise.core.model import Cluster

    Judge: TypeAlias = Callable[[View], Iterator[Batch]]
    FairJudge: TypeAlias = Callable[[View, FairLoads], Iterator[Batch]]

__all__ = [
    "RULES",
    "FairLoads",
    "Finding",
    "Findings",
    "RackLoss",
    "Rule",
    "Severity",
    "audit",
    "blast_radius",
]

JUDGES: Mapping[str, Judge] = MappingProxyType(
    {
        "rack-missing": whole.rack_missing,
        "rack-depth": whole.rack_depth,
        "spread-even": spread.spread_even,
        "spread-distinct": spread.spread_distinct,
        "spread-at-least": spread.spread_at_least,
        "rack-count": spread.rack_count,
        "replication": replicas.replication,
        "dead-replica": replicas.dead_replica,
        "drained-broker": replicas.drained_broker,
        "pin": replicas.pin,
        "offline": sync.offline,
        "under-min-isr": sync.under_min_isr,
        "under-replicated": sync.under_replicated,
        "at-min-isr": sync.at_min_isr,
        "rack-loss-offline": loss.rack_loss_offline,
        "rack-loss-min-isr": loss.rack_loss_min_isr,
        "leader-rack": leaders.leader_rack,
        "throttle-left": whole.throttle_left,
        "not-preferred-leader": leaders.not_preferred_leader,
        "reassigning": replicas.reassigning,
        "unequal-racks": loads.unequal_racks,
        "size-unknown": whole.size_unknown,
        "not-visible": whole.not_visible,
    }
)
FAIR_JUDGES: Mapping[str, FairJudge] = MappingProxyType(
    {
        "replica-balance": loads.replica_balance,
        "leader-balance": loads.leader_balance,
        "topic-spread": loads.topic_spread,
    }
)
"""The rules that compare with fair loads."""

SPREAD_RULES = ("spread-even", "spread-distinct", "spread-at-least", "rack-count")
RACK_LOSS_RULES = ("rack-loss-offline", "rack-loss-min-isr")
MIN_ISR_RULES = ("under-min-isr", "at-min-isr", "rack-loss-min-isr")


def audit(
    cluster: Cluster,
    policy: Policy = DEFAULT_POLICY,
    *,
    rules: Collection[str] | None = None,
    fair: FairLoads | None = None,
) -> Findings:
    """All findings of a cluster under a policy, in order.

    `rules`: only these; None is all. `fair`: what each broker should hold; without it the rules
    that compare with it are in `not_checked`.

    Raises `InvalidConfig` for a rule that does not exist, `InvalidPolicy` for a policy that names
    what the cluster lacks or asks for what cannot be, `InvalidRack` for a malformed `broker.rack`.
    """
    for name in rules or ():
        if name not in RULES:
            raise InvalidConfig(
                f'no rule is called "{escaped(name)}"',
                wanted="a rule",
                had=name,
                hint=f"rules: {', '.join(RULES)}",
            )
    check_policy(policy, cluster)
    view = View(cluster, policy)
    skipped = _skipped(view, rules, fair)
    batches = [
        batch for name, judge in JUDGES.items() if name not in skipped for batch in judge(view)
    ]
    if fair is not None:
        batches.extend(
            batch
            for name, judge in FAIR_JUDGES.items()
            if name not in skipped
            for batch in judge(view, fair)
        )
    reasons = _half_checked(view) | skipped
    return Findings.of(
        batches,
        table=cluster.partitions,
        levels=view.levels,
        not_checked={name: reasons[name] for name in RULES if name in reasons},
    )


def _skipped(view: View, rules: Collection[str] | None, fair: FairLoads | None) -> dict[str, str]:
    """Rule -> why it is not judged at all; the first of several reasons."""
    reasons = _unfair(view, fair)
    reasons.update(_unwanted(view))
    reasons.update(dict.fromkeys(view.policy.audit.ignore, "ignored by the policy"))
    if rules is not None:
        reasons.update((name, "not asked for") for name in RULES if name not in rules)
    return reasons


def _unfair(view: View, fair: FairLoads | None) -> dict[str, str]:
    """Rules that compare with fair loads, where there are none or none are wanted."""
    reasons = {} if fair is not None else dict.fromkeys(FAIR_JUDGES, "fair loads were not given")
    balance = view.policy.balance
    if balance.replicas == "off":
        reasons["replica-balance"] = "balance.replicas is off"
        reasons["unequal-racks"] = "balance.replicas is off"
    if balance.leaders != "even":
        reasons["leader-balance"] = f"balance.leaders is {balance.leaders}"
    if all(rules.topic_spread == "off" for rules in view.rules):
        reasons["topic-spread"] = "topic_spread is off"
    return reasons


def _unwanted(view: View) -> dict[str, str]:
    """Rules that the policy turns off, or that this cluster gives no ground to judge."""
    policy, cluster = view.policy, view.cluster
    reasons: dict[str, str] = {}
    if policy.racks.missing != "error":
        reasons["rack-missing"] = f"racks.missing is {policy.racks.missing}"
    rackless = int((view.live & (view.tree.nodes[0] < 0)).sum())
    if rackless:
        reason = f"no rack is known of {counted(rackless, 'live broker')}"
        reasons["unequal-racks"] = reason
        if policy.racks.missing == "unaware":
            reasons.update(dict.fromkeys(SPREAD_RULES, f"racks.missing is unaware and {reason}"))
    if not view.tree.names[0]:
        reasons.update(dict.fromkeys((*SPREAD_RULES, *RACK_LOSS_RULES), "no broker has a rack"))
    if policy.audit.rack_loss == ():
        reasons.update(dict.fromkeys(RACK_LOSS_RULES, "audit.rack_loss is off"))
    if any(note.kind == "no-configs" for note in cluster.notes):
        reasons["throttle-left"] = "configurations were not read"
    return reasons


def _half_checked(view: View) -> dict[str, str]:
    """Rules that are judged, but not for every topic."""
    unknown = int((view.topic_min_isr < 0).sum())
    if not unknown:
        return {}
    topics = counted(len(view.table.topics), "topic")
    reason = f"min.insync.replicas of {unknown} of {topics} is not known"
    return dict.fromkeys(MIN_ISR_RULES, reason)
