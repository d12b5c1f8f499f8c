"""Which notices a night makes: one for each change, none for what is known already.

| kind | when |
|---|---|
| `topic-unsafe` | a topic has a finding of severity error and had none |
| `topic-safe` | a topic that had such a finding has none, or was deleted |
| `safety-unknown` | a rule of severity error was not checked, and the last audit checked it |
| `safety-known` | every rule of severity error is checked again |
| `cost-rose` | a day cost more per hour than an earlier day, by more than the limit |
| `cluster-failed` | a step of the cluster failed, and none failed before |
| `cluster-recovered` | no step fails any more |
| `plan-waits` | a plan has moves, and they are not those of the plan before |

A figure that is not known tonight changes nothing: it makes no notice, and what has been reported
stays so. So a cluster that is down for a night does not report its unsafe topics anew when it is
back.

A topic is safe only if rules say so. If tonight a rule was not checked that was checked when the
topics were found, topics without a finding stay unsafe, and those with a new finding are reported:

```
night   racks of brokers   found     notice                 remembered
1       known              a, b      topic-unsafe: a, b     a, b
2       not known          -         -                      a, b
3       not known          c         topic-unsafe: c        a, b, c
4       known              b         topic-safe: a, c       b
```

Night 2 also sends `safety-unknown`, because topics may have become unsafe that no rule could find.
Night 3 does not send it again: only rules that the audit before checked are news. Night 4 sends
`safety-known`. A rule counts by its name; its reason may have a number that differs each night.

What this does not do: send; decide what is unsafe (`core.audit`) or what a plan moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from rackwise.core.json.declare import LATER
from rackwise.core.text import are, counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

NoticeKind: TypeAlias = Literal[
    "topic-unsafe",
    "topic-safe",
    "safety-unknown",
    "safety-known",
    "cost-rose",
    "cluster-failed",
    "cluster-recovered",
    "plan-waits",
]
LONGEST: Final = 300
"""Characters of the text of a notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One change that people get to know."""

    kind: NoticeKind
    """What happened."""
    cluster: str
    """Name of the cluster."""
    day: str
    """The night that found it."""
    text: str
    """One sentence, safe to print."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMemory:
    """What has been reported of a cluster."""

    last_success: str | None = None
    """End of the last night in which no step of the cluster failed, UTC."""
    is_failing: bool = False
    """Whether its last notice of failure has had no recovery."""
    unsafe: tuple[str, ...] = ()
    """Topics with a finding of severity error in the last audit, sorted."""
    not_checked: Annotated[tuple[str, ...], LATER] = ()
    """Rules of severity error that were not checked when these topics were found, and why."""
    unchecked: Annotated[tuple[str, ...], LATER] = ()
    """Rules of severity error that the last audit did not check, or not everywhere; sorted."""
    unknown_since: Annotated[str | None, LATER] = None
    """The night since which there has always been such a rule; null without one."""
    has_cost_risen: bool = False
    """Whether the cost was above the limit when it was last known."""
    plan: str | None = None
    """SHA-256 of the moves of the plan that waits; null if nothing is to be moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCost:
    """The cost of one day, and of the day that it is compared with; nano-dollars per hour."""

    day: str
    before_day: str
    nano_per_hour: Fraction
    before_nano_per_hour: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class NightFacts:
    """What is known of a cluster tonight; None is not known."""

    failures: tuple[str, ...]
    """A sentence for each failed step; empty if every step succeeded."""
    unsafe: tuple[str, ...] | None = None
    """Topics with a finding of severity error."""
    not_checked: Mapping[str, str] = field(default_factory=dict)
    """Rules of severity error that were not checked, or not everywhere: rule -> reason."""
    lacks_racks: bool = False
    """Whether one of these rules was not checked because a live broker has no rack."""
    cost: DayCost | None = None
    plan: str | None = None
    """SHA-256 of the moves of tonight's plan; an empty text is a plan without moves."""
    moves: int = 0
    """Moves of that plan."""
    plan_file: str = ""


def changes(
    name: str, memory: ClusterMemory, facts: NightFacts, *, day: str, limit_percent: int
) -> tuple[tuple[Notice, ...], ClusterMemory]:
    """The notices of a cluster, worst first, and what to remember once they are kept.

    `limit_percent`: a rise of the cost above this makes a notice.
    """
    told: list[tuple[NoticeKind, str]] = []
    who = escaped(name)
    if facts.failures and not memory.is_failing:
        told.append(("cluster-failed", f"{who}: {facts.failures[0]}{_more(facts.failures)}"))
    if memory.is_failing and not facts.failures:
        told.append(("cluster-recovered", f"{who}: every step succeeds again"))
    new = sorted({*(facts.unsafe or ())} - {*memory.unsafe})
    if new:
        names = names_text(new)
        told.append(("topic-unsafe", f"{who}: {counted(len(new), 'topic')} became unsafe: {names}"))
    unsafe, not_checked = _known_unsafe(memory, facts)
    unchecked = memory.unchecked if facts.unsafe is None else tuple(sorted(facts.not_checked))
    unknown_since = (memory.unknown_since or day) if unchecked else None
    if newly := sorted({*unchecked} - {*memory.unchecked}):
        told.append(("safety-unknown", f"{who}: {_unknown_text(newly, facts, day, who)}"))
    safe = sorted({*memory.unsafe} - {*unsafe})
    if safe:
        told.append(("topic-safe", f"{who}: {_safe_text(safe, unsafe)}"))
    if memory.unknown_since is not None and not unchecked:
        told.append(("safety-known", f"{who}: {_known_text(memory.unknown_since, unsafe)}"))
    has_risen = memory.has_cost_risen
    if facts.cost is not None:
        has_risen = _has_risen(facts.cost, limit_percent)
        if has_risen and not memory.has_cost_risen:
            told.append(("cost-rose", f"{who}: {_rise_text(facts.cost)}"))
    plan = memory.plan if facts.plan is None else facts.plan or None
    if plan is not None and plan != memory.plan:
        moves = counted(facts.moves, "partition")
        told.append(
            ("plan-waits", f"{who}: a plan waits that moves {moves}: {escaped(facts.plan_file)}")
        )
    kept = replace(
        memory,
        is_failing=bool(facts.failures),
        unsafe=unsafe,
        not_checked=not_checked,
        unchecked=unchecked,
        unknown_since=unknown_since,
        has_cost_risen=has_risen,
        plan=plan,
    )
    return tuple(_notice(kind, name, day, text) for kind, text in told), kept


def _known_unsafe(
    memory: ClusterMemory, facts: NightFacts
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The topics that count as unsafe from tonight on, and the rules that did not look at them."""
    if facts.unsafe is None:
        return memory.unsafe, memory.not_checked
    not_checked = tuple(sorted(f"{rule}: {why}" for rule, why in facts.not_checked.items()))
    if memory.unsafe and not {*not_checked} <= {*memory.not_checked}:
        return tuple(sorted({*memory.unsafe, *facts.unsafe})), memory.not_checked
    return tuple(sorted({*facts.unsafe})), not_checked


def _safe_text(safe: Sequence[str], unsafe: Sequence[str]) -> str:
    """That these topics are safe again, or deleted, and how many are left."""
    names = names_text(safe)
    topics = f"{counted(len(safe), 'topic')} {are(len(safe))}"
    return f"{topics} no longer unsafe: {names}; {_left_text(unsafe)}"


def _left_text(unsafe: Sequence[str]) -> str:
    left = f"{counted(len(unsafe), 'topic')} {are(len(unsafe))}" if unsafe else "no topic is"
    return f"{left} unsafe"


def _unknown_text(rules: Sequence[str], facts: NightFacts, day: str, who: str) -> str:
    """That topics may be unsafe which no rule could find, since when, why, and what to do."""
    why = names_text(sorted({escaped(facts.not_checked[each]) for each in rules}))
    unchecked = f"{counted(len(rules), 'rule')} {'was' if len(rules) == 1 else 'were'} not checked"
    cure = "set broker.rack on each broker, then run" if facts.lacks_racks else "run"
    return (
        f"since the night of {day} it is not known whether all topics are safe: "
        f"{unchecked} ({why}); {cure} rackwise audit --cluster {who}"
    )


def _known_text(since: str, unsafe: Sequence[str]) -> str:
    """That every rule is checked again, since when it was not, and how many topics are unsafe."""
    return (
        f"it is known again whether all topics are safe, for the first time since the night of "
        f"{since}; {_left_text(unsafe)}"
    )


def _notice(kind: NoticeKind, cluster: str, day: str, text: str) -> Notice:
    is_long = len(text) > LONGEST
    return Notice(
        kind=kind, cluster=cluster, day=day, text=f"{text[: LONGEST - 3]}..." if is_long else text
    )


def _more(failures: Sequence[str]) -> str:
    more = len(failures) - 1
    return f"; {counted(more, 'more step')} failed" if more else ""


def _has_risen(cost: DayCost, limit_percent: int) -> bool:
    return cost.nano_per_hour * 100 > cost.before_nano_per_hour * (100 + limit_percent)


def _rise_text(cost: DayCost) -> str:
    days = f"on {cost.day} than on {cost.before_day}"
    if cost.before_nano_per_hour == 0:
        return f"traffic between racks cost more {days}, when it cost nothing"
    rise = (cost.nano_per_hour / cost.before_nano_per_hour - 1) * 100
    return f"traffic between racks cost {int(rise)} % more {days}"
