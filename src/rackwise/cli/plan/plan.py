"""`rackwise plan`: finds the cheapest moves that reach a goal, with a proof."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.plan.goals import (
    USES,
    GoalName,
    check_globs,
    kept_notes,
    parse_goal,
    rack_notes,
    replication_globs,
    size_notes,
)
from rackwise.cli.plan.job import (
    Minimise,
    PlanJob,
    Solver,
    at_rest,
    gather_job,
    internal_topics,
)
from rackwise.cli.plan.placed import PlacerChoice, placed_plan, placed_text
from rackwise.cli.plan.search import READ, SEARCH, WRITE, cost_of_rules, seal, search_plan
from rackwise.cli.shell import Shell
from rackwise.cli.source import (
    ClusterSource,
    PolicyFile,
    PriceTable,
    Provider,
    Topics,
    select_topics,
)
from rackwise.core.errors import InvalidConfig, InvalidPrices
from rackwise.core.json.strict import collector_off
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.adapters.files.plan.write import SealedPlan
    from rackwise.core.planning.rule_costs import RuleCost

LONGEST_S = 10**6
MOST_REPLICAS = 10**9
LARGEST_CAP = 10**9
"""Dollars per 30 days."""


@with_option_groups()
def plan(
    context: typer.Context,
    goal: Annotated[
        GoalName, typer.Argument(metavar="GOAL", help=f"Reach this goal: {', '.join(USES)}.")
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...",
            help="Arguments of the goal: drain IDS, replace OLD=NEW.., set-rf GLOB=N.., "
            "add ID=RACK..",
        ),
    ] = None,
    *,
    source: ClusterSource,
    placement: PlacerChoice,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the plan here for proof and apply; FILE.gz is compressed. With --fleet, a "
            "folder.",
        ),
    ] = None,
    policy: PolicyFile = None,
    minimise: Annotated[
        Minimise | None,
        typer.Option(
            help="Minimise this cost of the copies; with the goal leaders, which copies nothing, "
            "only moves is accepted. [default: the policy's, else moves]"
        ),
    ] = None,
    prices: PriceTable = None,
    provider: Provider = None,
    price_cap: Annotated[
        str | None,
        typer.Option(
            metavar="USD_PER_MONTH",
            help="Refuse a plan that raises the price of replication by more than this in 30 days, "
            "or by an unknown amount.",
        ),
    ] = None,
    topics: Topics = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Leave the matching topics alone, as exclude in the policy does: nothing of them "
            "moves, and they count as loads. May be repeated.",
        ),
    ] = None,
    no_internal: Annotated[
        bool,
        typer.Option(
            "--no-internal",
            help="Leave Kafka's internal topics alone, such as __consumer_offsets.",
        ),
    ] = False,
    rebalance: Annotated[
        bool,
        typer.Option("--rebalance", help="Also balance all loads, for the goals drain and set-rf."),
    ] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Also repair the partitions that the goal does not touch, for the goals drain, "
            "replace, set-rf and add.",
        ),
    ] = False,
    disable_rack_aware: Annotated[
        bool,
        typer.Option(
            "--disable-rack-aware",
            "--ignore-racks",
            help="Ignore the racks of the brokers, as Kafka's --disable-rack-aware does.",
        ),
    ] = False,
    assume: Annotated[
        Literal["target"] | None,
        typer.Option(help="Plan as if running reassignments were complete."),
    ] = None,
    max_moves: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Copy at most N replicas with this plan, first for the partitions with the worst "
            "consequence; the plan lists the other moves as later, for the next plan.",
        ),
    ] = None,
    fail_on_moves: Annotated[
        int,
        typer.Option(
            metavar="N", help="Exit with 2 only if the plan moves more than N partitions."
        ),
    ] = 0,
    price_rules: Annotated[
        bool, typer.Option("--price-rules", help="Report what each soft rule costs.")
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Stop the search after S seconds, also within a flow, and take the best plan "
            "found. Its leaders and its proof are computed after that.",
        ),
    ] = None,
    solver: Annotated[
        Solver,
        typer.Option(help="Choose the solver. The cost of the plan is the same with every solver."),
    ] = "auto",
    kafka_json: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the moves as Kafka's reassignment JSON."),
    ] = None,
    rollback_json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the moves that undo the plan as Kafka's reassignment JSON."
        ),
    ] = None,
) -> int:
    """Plan the cheapest moves in replicas, bytes or dollars; prove that no plan is cheaper.

    Reads only. Exit codes: 0 nothing to move, 2 moves found (see --fail-on-moves), 1 error, 3 a
    cluster of --fleet failed, 4 above the price cap.
    """
    shell: Shell = context.obj
    from rackwise.adapters.files.writing import check_places
    from rackwise.core.planning.outcome.monthly import check_price_cap
    from rackwise.core.planning.problem.goals import check_takers

    check_time_limit(time_limit)
    _check_max_moves(max_moves)
    _check_fail_on_moves(fail_on_moves)
    cap_nano = parse_price_cap(price_cap)
    check_places((out, kafka_json, rollback_json))
    parsed_goal = parse_goal(goal, words or [], rebalance=rebalance, repair=repair)
    placement.check(
        goal,
        {
            "--minimise": minimise,
            "--prices": prices,
            "--provider": provider,
            "--price-cap": price_cap,
            "--rebalance": rebalance,
            "--repair": repair,
            "--max-moves": max_moves,
            "--price-rules": price_rules,
            "--time-limit": time_limit,
            "--solver": solver != "auto",
        },
    )
    steps = None if price_rules else READ + SEARCH + WRITE
    with collector_off(), shell.progress("plan", total=steps) as advance:
        cluster = select_topics(source.read(shell), topics or ["*"])
        cluster = at_rest(cluster, assume_target=assume is not None)
        for note in cluster.notes:
            shell.warn(escaped(f"{note.kind}: {note.text}"))
        check_takers(parsed_goal, cluster)
        check_globs("set-rf", replication_globs(parsed_goal), cluster)
        check_globs("--exclude", exclude or (), cluster)
        advance(READ)
        internal: list[str] = []
        if no_internal:
            internal = internal_topics(shell, cluster, is_selected=bool(topics))
        job = gather_job(
            shell,
            cluster,
            parsed_goal,
            policy=policy,
            minimise=minimise if placement.placer is None else "moves",
            prices=prices,
            provider=provider,
            is_rack_unaware=disable_rack_aware,
            excluded=[*(exclude or ()), *internal],
        )
        job = replace(
            job,
            topics=tuple(sorted({*topics} if topics else "*")),
            solver=solver,
            time_limit=time_limit,
            max_moves=max_moves,
        )
        if cap_nano is not None:
            _check_prices_of_cap(job)
        if placement.placer is None:
            found = search_plan(shell, job, advance)
        else:
            found = placed_plan(
                shell, placement, job.goal, cluster, job.policy, is_rack_unaware=disable_rack_aware
            )
        sealed = seal(job, found)
        result = sealed.plan
        if cap_nano is not None:
            check_price_cap(result.totals, cap_nano)
        priced = cost_of_rules(job, result, advance) if price_rules else None
        is_kept = _write(sealed, out, kafka_json, rollback_json)
        advance(WRITE)
    settled = cluster.settled(job.policy.racks.map)
    notes = rack_notes(parsed_goal, settled)
    for text in (*notes, *kept_notes(result, cluster), *size_notes(result, settled, job.policy)):
        shell.warn(text)
    _show(shell, sealed, priced, is_kept=is_kept)
    return 2 if len(result.moves) > fail_on_moves else 0


def check_time_limit(seconds: float | None) -> None:
    """Reject a time limit that is not above 0. Raises `InvalidConfig`."""
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise InvalidConfig(
            f"invalid --time-limit: expected more than 0 and at most {LONGEST_S} seconds, "
            f"got {seconds:g}",
            wanted=f"0..{LONGEST_S}",
            had=seconds,
            hint="for example --time-limit 60",
        )


def _check_fail_on_moves(count: int) -> None:
    if count < 0:
        raise InvalidConfig(
            f"invalid --fail-on-moves: expected 0 or more, got {count}",
            wanted="0 or more",
            had=count,
            hint="0 exits with 2 at the first move",
        )


def _check_max_moves(most: int | None) -> None:
    """Reject a number of replicas that is not above 0. Raises `InvalidConfig`."""
    if most is not None and not 0 < most <= MOST_REPLICAS:
        raise InvalidConfig(
            f"invalid --max-moves: expected 1 to {MOST_REPLICAS} replicas, got {most}",
            wanted=f"1..{MOST_REPLICAS}",
            had=most,
            hint="for example --max-moves 200",
        )


def parse_price_cap(text: str | None) -> int | None:
    """Parse dollars per 30 days to nano-dollars. Raises `InvalidConfig`."""
    from rackwise.core.traffic import nano_of

    if text is None:
        return None
    try:
        usd = Decimal(text)
    except InvalidOperation:
        usd = Decimal(-1)
    if not (usd.is_finite() and 0 <= usd <= LARGEST_CAP):
        raise InvalidConfig(
            f"invalid --price-cap: expected dollars from 0 to {LARGEST_CAP}, got {escaped(text)}",
            wanted=f"0..{LARGEST_CAP}",
            had=text,
            hint="give dollars per 30 days, for example --price-cap 12.50",
        )
    return nano_of(usd)


def _check_prices_of_cap(job: PlanJob) -> None:
    """Raise `InvalidPrices` for a cap without prices."""
    if not job.prices:
        raise InvalidPrices(
            "--price-cap requires --provider",
            wanted="--provider NAME",
            hint="for example --provider aws",
        )


def _write(
    sealed: SealedPlan, out: Path | None, kafka_json: Path | None, rollback: Path | None
) -> bool:
    """Write the requested files; return whether there was one."""
    from rackwise.adapters import files

    result = sealed.plan
    if out is not None:
        files.write_plan_data(sealed.data, out)
    for path, lists in ((kafka_json, "after"), (rollback, "before")):
        if path is not None:
            files.write_reassignment(
                {(move.topic, move.partition): getattr(move, lists) for move in result.moves}, path
            )
    return any(path is not None for path in (out, kafka_json, rollback))


def _show(
    shell: Shell, sealed: SealedPlan, priced: Sequence[RuleCost] | None, *, is_kept: bool
) -> None:
    if shell.is_json:
        _show_document(shell, sealed, priced)
        return
    result = sealed.plan
    from rackwise.cli.plan.text import plan_text, rule_prices_text
    from rackwise.core.applying.foreign import is_foreign

    text = placed_text if is_foreign(result) else plan_text
    shell.text(text(result, has_color=shell.has_color()))
    if priced is not None:
        shell.text("\n" + rule_prices_text(priced))
    if result.moves and not is_kept:
        shell.note("no file was written; use --out FILE to keep the plan for rackwise apply")


def _show_document(shell: Shell, sealed: SealedPlan, priced: Sequence[RuleCost] | None) -> None:
    if priced is None:
        shell.data(sealed.data.decode().removesuffix("\n"))
        return
    from rackwise.cli.plan.documents import CODEC, PricedPlanDocument, RuleCostDocument

    rules = tuple(
        RuleCostDocument(
            rule=each.rule,
            with_=each.with_rule,
            without=each.without_rule,
            sentence=each.sentence,
        )
        for each in priced
    )
    shell.document(PricedPlanDocument(plan=sealed.plan, rules=rules), CODEC)
