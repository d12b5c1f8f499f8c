"""Text output of `rackwise plan`: one line per move (`move_text`), then totals, proof and price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.plan.goals import goal_text
from rackwise.cli.tables import columns_text, labelled_text
from rackwise.core.planning.outcome.move_columns import columns_of
from rackwise.core.text import counted, escaped, names_text
from rackwise.core.traffic import exact_dollars, usd_of
from rackwise.report.formats import bytes_change_text, bytes_text, change_text, sizes_text, usd_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwise.core.planning.model import (
        BrokerGroup,
        MonthlyChange,
        Plan,
        Steady,
        Totals,
        Verdict,
    )
    from rackwise.core.planning.rule_costs import RuleCost

CUTS_SHOWN = 5
BROKERS_SHOWN = 12
MONTH_DAYS = 30
UNITS = {"moves": "replicas", "bytes": "bytes", "usd": "dollars", "leaders": "leader changes"}
"""Objective -> its unit."""


def plan_text(plan: Plan, *, has_color: bool) -> str:
    """Format one line per move, an empty line and the summary."""
    from rackwise.cli.plan.move_text import moves_text

    return "\n".join(
        filter(None, (moves_text(plan.moves, has_color=has_color), summary_text(plan)))
    )


def summary_text(plan: Plan) -> str:
    """Format totals, fair loads, proof and price, each with a label."""
    totals = plan.totals
    rows = (
        ("goal", _goal(plan)),
        ("moves", _moves(totals)),
        *later_rows(plan),
        *left_alone_rows(plan),
        ("leaders", _leaders(totals)),
        ("bytes", _bytes(totals)),
        ("price", _price(totals)),
        *_monthly(totals),
        ("fair", _fair(plan)),
        *(("", cut) for cut in _cuts(plan)),
        ("proof", proof_text(plan.verdict, objective_of(plan))),
        *(("", text) for text in replication_texts(plan.verdict)),
        *(("", escaped(problem)) for problem in plan.verdict.problems),
        ("solver", escaped(plan.solver)),
    )
    return labelled_text(rows)


def _goal(plan: Plan) -> str:
    suffix = ", of a hypothetical cluster" if plan.hypothetical else ""
    return f"{goal_text(plan.goal)}, fewest {UNITS[objective_of(plan)]}{suffix}"


def _moves(totals: Totals) -> str:
    if not totals.partitions and not totals.order_only:
        return "none: nothing to move"
    return (
        f"{counted(totals.moves, 'replica')} in {counted(totals.partitions, 'partition')} "
        f"(at least {totals.partitions_at_least} in any such plan); "
        f"{totals.repair_moves} required by rules, {totals.balance_moves} for fair loads"
        f"{_goal_moves(totals)}"
    )


def _goal_moves(totals: Totals) -> str:
    if totals.goal_moves is None or totals.goal_moves == totals.moves:
        return ""
    return f"; {totals.goal_moves} belong to the goal"


def _leaders(totals: Totals) -> str:
    if not totals.leader_changes and not totals.order_only:
        return ""
    return (
        f"{counted(totals.leader_changes, 'preferred leader')} changed, "
        f"{counted(totals.order_only, 'list')} only reordered"
    )


def _bytes(totals: Totals) -> str:
    if not totals.moves:
        return ""
    copied = f"{sizes_text(totals.bytes, totals.unknown_sizes)} to copy"
    if not totals.unknown_sizes:
        return f"{copied}, {bytes_text(totals.cross_bytes)} of it across racks"
    # The bytes of unknown size may cross racks, too.
    least = f", at least {bytes_text(totals.cross_bytes)} of it across racks"
    return copied + least * bool(totals.cross_bytes)


def _price(totals: Totals) -> str:
    once = "" if totals.usd_nano is None else f"{usd_text(usd_of(totals.usd_nano))} once"
    before, after = totals.steady_before, totals.steady_after
    if before is None or after is None:
        return once
    if before.unknown_rates and not before.cross_bytes_per_s + after.cross_bytes_per_s:
        rates = counted(before.unknown_rates, "rate")
        return f"{once}; daily price unknown: {rates} missing" if once else ""
    steady = f"replication across racks {_steady(before)} -> {_steady(after)}"
    return "; ".join(filter(None, (once, steady)))


def _steady(steady: Steady) -> str:
    unknown = f" ({counted(steady.unknown_rates, 'unknown rate')})" if steady.unknown_rates else ""
    if steady.usd_nano_per_day is None:
        return f"{bytes_text(steady.cross_bytes_per_s)}/s{unknown}"
    return (
        f"{usd_text(usd_of(steady.usd_nano_per_day * MONTH_DAYS))} per {MONTH_DAYS} days{unknown}"
    )


def _monthly(totals: Totals) -> Iterator[tuple[str, str]]:
    """Format the change of the monthly bill: one row for replication, one for reads."""
    monthly = totals.monthly
    if monthly is None or not totals.partitions + totals.order_only:
        return
    if totals.usd_nano is None and monthly.replication_cross_bytes is None:
        return
    yield "monthly", monthly_change_text(monthly)
    if totals.usd_nano is None:
        return
    if monthly.reads_usd_nano is None:
        yield "", f"the change of reads is unknown: {escaped(monthly.reads_reason or '')}"
    elif monthly.reads_usd_nano:
        yield (
            "",
            f"and reads by {change_text(usd_of(monthly.reads_usd_nano))} per {MONTH_DAYS} days",
        )


def monthly_change_text(monthly: MonthlyChange) -> str:
    """Format the change of replication in 30 days."""
    usd, cross = monthly.replication_usd_nano, monthly.replication_cross_bytes
    if usd is not None:
        return f"this plan changes replication by {change_text(usd_of(usd))} per {MONTH_DAYS} days"
    if cross is not None:
        change = bytes_change_text(cross)
        return f"this plan changes replication across racks by {change} per {MONTH_DAYS} days"
    return f"the change of replication is unknown: {escaped(monthly.replication_reason or '')}"


def left_alone_rows(plan: Plan) -> Iterator[tuple[str, str]]:
    """Format what the plan leaves as it is: frozen partitions, and each rule that stays broken."""
    found = plan.left_alone
    if found is None:
        return
    if found.partitions:
        yield "frozen", f"{counted(found.partitions, 'partition')} left alone"
    for one in found.broken:
        named = names_text(one.examples, of=one.partitions)
        verb = "breaks" if one.partitions == 1 else "break"
        yield "left", f"{counted(one.partitions, 'partition')} {verb} {escaped(one.rule)}: {named}"


def later_rows(plan: Plan) -> Iterator[tuple[str, str]]:
    """Format what fits --max-moves, what is left for later, and the rules that this repairs."""
    if not plan.later:
        return
    columns = columns_of(plan.moves), columns_of(plan.later)
    now, later = (
        f"{counted(int(moves.added.sum()), 'replica')} in {counted(len(moves), 'partition')}"
        for moves in columns
    )
    yield "now", f"{now}, at most {counted(plan.max_moves or 0, 'replica')}"
    is_least = plan.verdict.is_proved and plan.minimise == "moves"
    yield "later", f"{later}{'; no plan gets from there to the goal with fewer' * is_least}"
    for name, count in columns[1].reason_counts.items():
        yield "", f"{counted(count, 'partition')} for {escaped(name)}"


def _fair(plan: Plan) -> str:
    replicas = loads_text(plan.fair.groups)
    leaders = loads_text(plan.fair.leader_groups)
    parts = [f"replicas {replicas}" if replicas else "", f"leaders {leaders}" if leaders else ""]
    return ", ".join(filter(None, parts)) + " on each broker" if any(parts) else ""


def loads_text(groups: Sequence[BrokerGroup]) -> str:
    """Format `4..5`: the smallest and the largest load of a broker; empty without brokers."""
    low = [each for group in groups for each in _ends(group, group.low, group.high)]
    high = [each for group in groups for each in _ends(group, group.high, group.low)]
    if not low:
        return ""
    return f"{min(low)}..{max(high)}" if min(low) < max(high) else str(min(low))


def _ends(group: BrokerGroup, loads: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    """Return these loads, or the others if the total leaves no choice."""
    return others if group.total == sum(others) else loads


def _cuts(plan: Plan) -> Iterator[str]:
    for cut in plan.fair.cuts[:CUTS_SHOWN]:
        named = names_text(cut.brokers, most=BROKERS_SHOWN)
        yield (
            f"broker{'s' * (len(cut.brokers) > 1)} {named} must hold "
            f"{counted(cut.least, 'replica')} or more in any plan: {escaped(cut.reason)}"
        )
    if len(plan.fair.cuts) > CUTS_SHOWN:
        yield f"and {counted(len(plan.fair.cuts) - CUTS_SHOWN, 'more cut')}; --json has all"


def objective_of(plan: Plan) -> str:
    """Return what the verdict counts: `moves`, `bytes`, `usd` or `leaders`."""
    from rackwise.core.planning.model import Leaders

    return "leaders" if isinstance(plan.goal, Leaders) else plan.minimise


def proof_text(verdict: Verdict, objective: str) -> str:
    """Format what is proved, in one line."""
    cost, bound = amount(verdict.cost, objective), amount(verdict.lower_bound, objective)
    if verdict.is_proved:
        return f"proved: no fair and legal plan costs less than {bound}"
    what = []
    if not verdict.is_legal:
        what.append("a set breaks a rule")
    if not verdict.is_fair:
        what.append("the loads are not fair")
    if verdict.gap:
        stopped = ", the search was stopped early" if verdict.is_heuristic else ""
        what.append(f"it costs {cost}, the lower bound is {bound}{stopped}")
    if verdict.replication and verdict.replication.gap:
        what.append("replication costs more than its lower bound")
    if not what:
        return "not proved: see the problems"
    return f"{verdict.text}: {'; '.join(what)}"


def replication_texts(verdict: Verdict) -> Iterator[str]:
    """Say in one line what is proved of the price of replication; nothing if it is no objective."""
    found = verdict.replication
    if found is None:
        return
    cost, bound = (usd_text(usd_of(nano * MONTH_DAYS)) for nano in (found.cost, found.lower_bound))
    if not found.gap:
        yield (
            "and no such plan with as few moves has a lower price of replication than "
            f"{cost} per {MONTH_DAYS} days, with the leaders that stay"
        )
    else:
        yield (
            f"replication costs {cost} per {MONTH_DAYS} days, with the leaders that stay; "
            f"the lower bound is {bound}"
        )


def amount(cost: int, objective: str) -> str:
    """Format `2 replicas`, `12.4 GiB`, `$0.251203` (every digit) or `3 leader changes`."""
    if objective in {"moves", "leaders"}:
        return counted(cost, "replica" if objective == "moves" else "leader change")
    return bytes_text(cost) if objective == "bytes" else exact_dollars(cost)


def rule_prices_text(prices: Sequence[RuleCost]) -> str:
    """Format `topic_spread costs 23,228 of 25,010 moves` for each soft rule, and both totals."""
    if not prices:
        return "the policy has no soft rule"
    rows = []
    for price in prices:
        with_rule, without = price.with_rule, price.without_rule
        rows.append(
            (
                price.rule,
                *(f"{totals.moves:,}" for totals in (with_rule, without)),
                *(bytes_text(totals.bytes) for totals in (with_rule, without)),
                *(usd_text(usd_of(totals.usd_nano)) for totals in (with_rule, without)),
            )
        )
    header = ("rule", "moves", "without", "bytes", "without", "price", "without")
    table = columns_text(header, rows, numbers=range(1, len(header)))
    return "\n".join([table, "", *(price.sentence for price in prices)])
