"""`rackwise plan`: the fewest moves that reach a goal, with the proof that fewer would not do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rackwise.cli.plan.goals import USES, check_globs, goal_of, rack_notes, replication_globs
from rackwise.cli.shell import Shell
from rackwise.cli.source import (
    ClientConfig,
    Server,
    SnapshotFile,
    check_source,
    cluster_of,
    only_topics,
)
from rackwise.cli.stopping import ended_at_once
from rackwise.core.errors import Infeasible, InvalidConfig, InvalidPrices
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Plan
    from rackwise.core.planning.rule_costs import RulePrice
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price

PRICED = "rackwise.priced-plan/1"
NO_POLICY = 'format = "rackwise.policy/1"\n'
"""The text of a policy that has every default."""
READ, SEARCH, WRITE = 1, 5, 1
"""What progress counts: reading, the steps that a search tells, writing."""
LONGEST_S = 10**6
SHOWN = 50
"""Sentences about partitions without a legal set that are told one by one."""
OTHERS_SHOWN = 5
"""Partitions that one sentence names beside its own."""

PolicyPath = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="What is wanted, TOML; else the defaults."),
]
PricesPath = Annotated[
    Path | None,
    typer.Option("--prices", metavar="CSV", help="A price table. [default: the shipped one]"),
]
Provider = Annotated[
    str | None, typer.Option(metavar="NAME", help="Whose rows of it; nothing is priced without.")
]
Minimise = Literal["moves", "bytes", "usd"]
Solver = Literal["auto", "flow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be planned, gathered; `policy_text`: as its file has it."""

    cluster: Cluster
    policy: Policy
    policy_text: str
    goal: Goal
    minimise: Minimise
    prices: tuple[Price, ...]
    topics: tuple[str, ...] = ("*",)
    solver: Solver = "auto"
    time_limit: float | None = None


def plan(
    context: typer.Context,
    goal: Annotated[str, typer.Argument(metavar="GOAL", help=", ".join(USES) + ".")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...", help="drain IDS, replace OLD=NEW.., set-rf GLOB=N.., add ID=RACK.."
        ),
    ] = None,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    client_config: ClientConfig = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The plan for proof and apply, or FILE.gz.")
    ] = None,
    policy: PolicyPath = None,
    minimise: Annotated[
        Minimise | None, typer.Option(help="What to make small. [default: the policy's, or moves]")
    ] = None,
    prices: PricesPath = None,
    provider: Provider = None,
    topics: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only these topics; repeatable.")
    ] = None,
    rebalance: Annotated[
        bool, typer.Option("--rebalance", help="With drain and set-rf: even out all loads too.")
    ] = False,
    assume: Annotated[
        Literal["target"] | None,
        typer.Option(help="Plan as if what reassigns now had arrived; else it is refused."),
    ] = None,
    price_rules: Annotated[
        bool, typer.Option("--price-rules", help="What each soft rule costs: plan without it.")
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds; then the best plan so far.")
    ] = None,
    solver: Annotated[
        Solver, typer.Option(help="Algorithm that finds the sets; both find one cost.")
    ] = ("auto"),
    kafka_json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Kafka's own reassignment JSON.")
    ] = None,
    rollback_json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The same, back to how it is now.")
    ] = None,
) -> int:
    """Plan what moves: the fewest replicas, bytes or dollars, and the proof that less won't do.

    Reads only. Exit: 0 nothing to move, 2 there are moves, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.adapters.files.writing import check_places

    check_source(snapshot, bootstrap_server, client_config)
    check_time_limit(time_limit)
    check_places((out, kafka_json, rollback_json))
    wanted = goal_of(goal, words or [], rebalance=rebalance)
    with shell.progress("plan", total=None if price_rules else READ + SEARCH + WRITE) as advance:
        cluster = cluster_of(shell, snapshot, bootstrap_server, client_config)
        cluster = settled(only_topics(cluster, topics or ["*"]), assume_target=assume is not None)
        for note in cluster.notes:
            shell.warn(escaped(f"{note.kind}: {note.text}"))
        check_globs("set-rf", replication_globs(wanted), cluster)
        advance(READ)
        job = gathered(
            shell,
            cluster,
            wanted,
            policy=policy,
            minimise=minimise,
            prices=prices,
            provider=provider,
        )
        job = replace(
            job,
            topics=tuple(sorted({*topics} if topics else "*")),
            solver=solver,
            time_limit=time_limit,
        )
        made = planned(shell, job, advance)
        priced = _rule_prices(job, made, advance) if price_rules else None
        is_kept = _write(made, out, kafka_json, rollback_json)
        advance(WRITE)
    for text in rack_notes(wanted, cluster):
        shell.warn(text)
    _show(shell, made, priced, is_kept=is_kept)
    return 2 if made.moves else 0


def check_time_limit(seconds: float | None) -> None:
    """Refuse what is no length of time to search for, with `InvalidConfig`."""
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise InvalidConfig(
            f"invalid --time-limit: expected more than 0 and at most {LONGEST_S} seconds, "
            f"got {seconds:g}",
            wanted=f"0..{LONGEST_S}",
            had=seconds,
            hint="for example --time-limit 60",
        )


def stopwatch(seconds: float | None) -> Callable[[], bool]:
    """Whether so many seconds have gone by since now; never for None."""
    if seconds is None:
        return lambda: False
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def settled(cluster: Cluster, *, assume_target: bool) -> Cluster:
    """The cluster with nothing on the move. Raises `InvalidSnapshot` where something is."""
    from rackwise.core.planning.problem.at_rest import assume_target as arrived
    from rackwise.core.planning.problem.at_rest import check_settled

    if assume_target:
        return arrived(cluster)
    check_settled(cluster)
    return cluster


def gathered(
    shell: Shell,
    cluster: Cluster,
    goal: Goal,
    *,
    policy: Path | None,
    minimise: Minimise | None,
    prices: Path | None,
    provider: str | None,
) -> Job:
    """The policy and the prices that a plan wants, read from their files."""
    from rackwise.core.planning.problem.goals import wanted_by
    from rackwise.core.policy import DEFAULT_POLICY

    found, text = DEFAULT_POLICY, NO_POLICY
    if policy is not None:
        from rackwise.adapters import files

        read = files.read_policy(policy, max_bytes=shell.max_input)
        read.check(wanted_by(goal, cluster, read.policy).cluster)
        found, text = read.policy, read.text
    least = minimise or found.cost.minimise
    if prices is None and found.cost.prices is not None and policy is not None:
        prices = policy.parent / found.cost.prices
    return Job(
        cluster=cluster,
        policy=found,
        policy_text=text,
        goal=goal,
        minimise=least,
        prices=prices_for(shell, prices, provider or found.cost.provider, minimise=least),
    )


def prices_for(
    shell: Shell, path: Path | None, provider: str | None, *, minimise: Minimise = "moves"
) -> tuple[Price, ...]:
    """The rows of one provider; none where nobody asked for dollars. Raises `InvalidPrices`."""
    from rackwise.adapters import files
    from rackwise.core.traffic import prices_of

    if provider is not None:
        read = (
            files.shipped_prices()
            if path is None
            else files.read_prices(path, max_bytes=shell.max_input)
        )
        return prices_of(read, provider)
    if path is None and minimise != "usd":
        return ()
    raise InvalidPrices(
        f"{'--minimise usd' if path is None else '--prices'} requires --provider",
        wanted="--provider NAME",
        hint="for example --provider aws, or plan with --minimise moves",
    )


def planned(shell: Shell, job: Job, advance: Callable[[int], None]) -> Plan:
    """The plan, sealed; `advance` hears of each step."""
    from rackwise.adapters import files
    from rackwise.core.planning.plan import plan as find

    try:
        with ended_at_once():
            found = find(job.cluster, job.policy, job.goal, progress=advance, **_how(job))
    except Infeasible as error:
        _tell(shell, error)
        raise
    made_from = replace(
        found.made_from,
        snapshot_sha256=files.fingerprint(job.cluster),
        policy=job.policy_text,
        policy_sha256=files.policy_sha256(job.policy_text),
        topics=job.topics,
        prices=files.price_table(job.prices),
    )
    return files.sealed(replace(found, made_from=made_from))


def _tell(shell: Shell, error: Infeasible) -> None:
    """What is impossible, one line for what is wrong with many alike; the JSON error has all."""
    if shell.is_json:
        return
    alike: dict[str, list[str]] = {}
    for each in error.impossible:
        name, _, wanted = each.partition(" ")
        alike.setdefault(wanted, []).append(name)
    for wanted, names in list(alike.items())[:SHOWN]:
        shell.note(escaped(_alike(names, wanted)))
    if len(alike) > SHOWN:
        shell.note(f"and {len(alike) - SHOWN} more; --json has all")


def _alike(names: Sequence[str], wanted: str) -> str:
    """`t-0 wants 9 brokers; 6 are usable`, and how many others do so too."""
    others = names[1 : 1 + OTHERS_SHOWN]
    text = f"{names[0]} {wanted}"
    if not others:
        return text
    more = len(names) - 1 - len(others)
    rest = f" and {more} more" if more else ""
    return f"{text}; so it is with {', '.join(others)}{rest}"


def _rule_prices(job: Job, made: Plan, advance: Callable[[int], None]) -> tuple[RulePrice, ...]:
    from rackwise.core.planning.rule_costs import price_of_rules

    how = _how(job)
    with ended_at_once():
        return price_of_rules(
            job.cluster, job.policy, job.goal, planned=made, progress=advance, **how
        )


def _how(job: Job) -> dict[str, Any]:
    """The other arguments of a search; its time runs from now."""
    return {
        "minimise": job.minimise,
        "prices": job.prices,
        "solver": job.solver,
        "should_stop": stopwatch(job.time_limit),
    }


def _write(made: Plan, out: Path | None, kafka_json: Path | None, rollback: Path | None) -> bool:
    """The files that were asked for; whether there was one."""
    from rackwise.adapters import files

    if out is not None:
        files.write_plan(made, out)
    for path, lists in ((kafka_json, "after"), (rollback, "before")):
        if path is not None:
            files.write_reassignment(
                {(move.topic, move.partition): getattr(move, lists) for move in made.moves}, path
            )
    return any(path is not None for path in (out, kafka_json, rollback))


def _show(shell: Shell, made: Plan, priced: Sequence[RulePrice] | None, *, is_kept: bool) -> None:
    if shell.is_json:
        _show_document(shell, made, priced)
        return
    from rackwise.cli.plan.text import plan_text, rule_prices_text

    shell.text(plan_text(made, has_color=shell.has_color()))
    if priced is not None:
        shell.text("\n" + rule_prices_text(priced))
    if made.moves and not is_kept:
        shell.note("nothing was written; --out FILE keeps the plan for rackwise apply")


def _show_document(shell: Shell, made: Plan, priced: Sequence[RulePrice] | None) -> None:
    from rackwise.adapters import files

    if priced is None:
        shell.text(files.plan_bytes(made).decode().removesuffix("\n"))
        return
    shell.document(
        {
            "format": PRICED,
            "plan": files.plan_body(made) | {"sha256": made.sha256},
            "rules": [
                {
                    "rule": each.rule,
                    "with": files.totals_json(each.with_rule),
                    "without": files.totals_json(each.without_rule),
                    "sentence": each.sentence,
                }
                for each in priced
            ],
        }
    )
