"""Audits a cluster against a policy: which rules are broken, where, and what was not checked.

Goals, in order: every rule is either checked or named in `not_checked` with the reason; a finding
gives what was wanted and had in numbers; the same cluster gives the same findings in the same
order, in whatever order its brokers and partitions came; a million partitions take no longer than
reading them.

Constraints. The checker is not the algorithm: this file and all that it imports know nothing of
placing, planning or solving, so that they check Rackwise's own plans as they check any other.
Therefore the caller gives the fair loads. The placed replicas are checked: replicas that a running
reassignment adds (KIP-455) do not count yet, replicas that it removes still count.

The algorithm. The cluster becomes columns of small integers (`core.view`). Each rule is one
function in `core.rules` that yields findings as columns. Each distinct pattern is checked once, and
no loop runs over partitions. `Findings` sorts the findings and creates `Finding` values on demand.

```
rack tree /e (/e/a: 1 2, /e/b: 3)   /w (/w/a: 4 5, 5 is dead)        min.insync.replicas 2

orders-0  [1 3 4]                  ok
orders-1  [1 2 4]                  spread-even at zone: wanted /e/a 1, /e/b 1; had /e/a 2, /e/b 0
orders-2  [1 3 5], ISR [1 3]       dead-replica: wanted live brokers only; had 5
                                   under-replicated: wanted 3 in sync; had 2
                                   at-min-isr: wanted more than 2 in sync; had 2
```

Brokers without a rack. With `racks.missing = "error"` each live one is a finding. The replicas on
them are in no rack and do not affect a spread, so the rules about spread and rack loss are also in
`not_checked`: two replicas may share a rack that is not known. With `one-rack` they form one more
rack, as in KRaft. With `unaware` no spread rule is checked while a live broker has no rack. A
broker whose rack is odd (`core.odd_racks`) is a finding of its own, and counts as a broker without
a rack.

What this does not do: ask a running broker, say which replica to move, or check what no rule of the
policy asks for. Source: KIP-36, KIP-73, KIP-392, KIP-455, KIP-879.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rackwise.core.blast import RackLoss, blast_radius
from rackwise.core.errors import InvalidConfig
from rackwise.core.findings import NOT_ASKED_FOR, Finding, Findings, Rule, Severity
from rackwise.core.model import FairLoads
from rackwise.core.policy import DEFAULT_POLICY, Policy, check_policy
from rackwise.core.policy.faults import policy_error
from rackwise.core.rules import CONDITIONS, RULES
from rackwise.core.rules.racks import rackless_reason
from rackwise.core.text import escaped
from rackwise.core.view import View

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rackwise.core.json.toml_faults import Where
    from rackwise.core.model import Cluster

__all__ = [
    "IGNORED",
    "PLACEMENT_ERRORS",
    "RULES",
    "FairLoads",
    "Finding",
    "Findings",
    "RackLoss",
    "Rule",
    "Severity",
    "audit",
    "blast_radius",
    "check_ignored",
    "needs_fair_loads",
    "needs_racks",
    "sum_unsafe",
    "unchecked_placement",
    "unsafe_partitions",
]

IGNORED: Final = "ignored by the policy"
"""The reason of a rule that the policy leaves out, as opposed to one that cannot be checked."""
PLACEMENT_ERRORS: Final = frozenset(
    name for name, rule in RULES.items() if rule.severity == "error" and name != "rack-missing"
)
"""Rules without which a partition may be unsafe; a missing rack is about brokers."""


def audit(
    cluster: Cluster,
    policy: Policy = DEFAULT_POLICY,
    *,
    rules: Collection[str] | None = None,
    fair: FairLoads | None = None,
) -> Findings:
    """All findings of a cluster under a policy, in order.

    `rules`: check only these; None checks all. `fair`: what each broker should hold; without it the
    rules that compare with it are listed in `not_checked`.

    Raises `InvalidConfig` for a rule that does not exist, `InvalidPolicy` for a policy that names
    what does not exist or asks for what cannot be.
    """
    for name in rules or ():
        if name not in RULES:
            raise InvalidConfig(
                f'no rule is called "{escaped(name)}"',
                wanted="a rule",
                had=name,
                hint=_known_rules(),
            )
    check_ignored(policy)
    check_policy(policy, cluster)
    view = View(cluster, policy, FairLoads() if fair is None else fair)
    skipped = _skip_reasons(view, rules, has_fair=fair is not None)
    batches = [
        batch
        for name, check in RULES.checks.items()
        if name not in skipped
        for batch in check(view)
    ]
    partly = {name: CONDITIONS[name].partly(view) for name in RULES if name not in skipped}
    reasons = skipped | {name: reason for name, reason in partly.items() if reason is not None}
    return Findings.of(
        batches,
        rules=RULES,
        table=cluster.partitions,
        levels=view.levels,
        not_checked={name: reasons[name] for name in RULES if name in reasons},
    )


def unchecked_placement(not_checked: Mapping[str, str]) -> dict[str, str]:
    """The rules of `PLACEMENT_ERRORS` that could not be checked, or not everywhere, and why.

    `not_checked`: that of `Findings`. Rules that the policy ignores are left out.
    """
    return {
        name: reason
        for name, reason in not_checked.items()
        if name in PLACEMENT_ERRORS and reason != IGNORED
    }


def unsafe_partitions(findings: Findings) -> int | None:
    """Partitions with a finding of severity error.

    A number above 0 is what they are at least; there may be more where rules were not checked. None
    if none was found and a rule could not be checked: not found is not safe.
    """
    return len(findings.rows("error")) or (None if unchecked_placement(findings.not_checked) else 0)


def sum_unsafe(counts: Iterable[int | None]) -> int | None:
    """The sum of results of `unsafe_partitions`, with their meaning.

    >>> sum_unsafe([2, None, 3]), sum_unsafe([0, None]), sum_unsafe([0, 0])
    (5, None, 0)
    """
    found = [*counts]
    return sum(count or 0 for count in found) or (None if None in found else 0)


def check_ignored(policy: Policy, *, where: Where = None) -> None:
    """Raise `InvalidPolicy` if `audit.ignore` names a rule that does not exist.

    `where`: JSON path -> the file and the line, which the error names.
    """
    for index, name in enumerate(policy.audit.ignore):
        if name not in RULES:
            raise policy_error(
                ("audit", "ignore", index),
                f'no rule is called "{escaped(name)}"',
                where,
                wanted="a rule",
                had=name,
                hint=_known_rules(),
            )


def needs_fair_loads(rules: Collection[str]) -> bool:
    """Whether one of these rules compares with fair loads."""
    return any(CONDITIONS[name].needs_fair_loads for name in rules if name in CONDITIONS)


def needs_racks(rules: Collection[str]) -> bool:
    """Whether one of these rules of severity error is checked only where brokers have racks."""
    return any(CONDITIONS[name].partly is rackless_reason for name in rules)


def _known_rules() -> str:
    return f"rules: {', '.join(RULES)}"


def _skip_reasons(view: View, rules: Collection[str] | None, *, has_fair: bool) -> dict[str, str]:
    """Rule -> why it is not checked at all; of several reasons the first."""
    reasons: dict[str, str] = {}
    for name in RULES:
        conditions = CONDITIONS[name]
        if rules is not None and name not in rules:
            reasons[name] = NOT_ASKED_FOR
        elif name in view.policy.audit.ignore:
            reasons[name] = IGNORED
        elif (reason := conditions.unless(view)) is not None:
            reasons[name] = reason
        elif conditions.needs_fair_loads and not has_fair:
            reasons[name] = "fair loads were not given"
    return reasons
