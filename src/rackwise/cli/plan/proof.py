"""`rackwise proof`: verifies that a plan is legal, fair and minimal, without a solver."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.shell import Shell
from rackwise.cli.source import select_topics
from rackwise.core.errors import InvalidPlan
from rackwise.core.json.strict import collector_off
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.cli.plan.documents import ProofDocument
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Plan, Verdict
    from rackwise.core.policy import Policy

TO = {"moves": "move", "bytes": "copy", "usd": "pay once"}
"""Objective -> verb of the summary line."""
SHOWN = 12
"""A message shows this many hex digits of a hash."""
SETTINGS = 6
"""A line shows this many settings of a policy."""


def proof(
    context: typer.Context,
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A plan written by rackwise plan --out.")
    ],
    snapshot: Annotated[
        Path, typer.Option(metavar="FILE", help="The snapshot that the plan was built from.")
    ],
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The policy that the plan must have been made under, a TOML file."
        ),
    ] = None,
) -> int:
    """Verify that a plan is legal and fair, and that no legal and fair plan is cheaper.

    Legal: every replica list follows the rules. Fair: the loads are as even as the rules allow.
    Uses the policy, the price table and the certificate in the plan, and no solver. Prints what
    this policy changes; --policy requires that it is yours. Also verifies all else that the plan
    states. Reads only. Exit codes: 0 proved, 2 not proved, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.adapters import files
    from rackwise.adapters.memory import keep_memory
    from rackwise.core.policy import DEFAULT_POLICY
    from rackwise.core.policy.differences import differences

    keep_memory()
    with collector_off(), shell.progress("proof") as advance:
        made = files.read_plan(plan, max_bytes=shell.max_input)
        advance(len(made.moves))
        whole, sha256 = files.read_fingerprinted(snapshot, max_bytes=shell.max_input)
        advance(len(whole.partitions))
        yours = None if policy is None else files.read_policy(policy, max_bytes=shell.max_input)
        verdict = judge(
            made,
            whole,
            yours.policy if yours else None,
            plan_name=str(plan),
            snapshot_name=str(snapshot),
            sha256=sha256,
        )
    settings = differences(files.plan_policy(made, where=str(plan)), DEFAULT_POLICY)
    if shell.is_json:
        from rackwise.cli.plan.documents import CODEC

        shell.document(_document(made, verdict, settings), CODEC)
    else:
        shell.text(_text(made, verdict, settings, str(plan)))
    return 0 if verdict.is_proved else 2


def judge(
    plan: Plan,
    snapshot: Cluster,
    yours: Policy | None,
    *,
    plan_name: str,
    snapshot_name: str,
    sha256: str | None = None,
) -> Verdict:
    """Check the proof of a plan and all else that it states.

    `yours`: the policy that the plan must have been made under; None accepts the plan's own.
    `sha256`: the fingerprint of the snapshot, where the caller has it.

    Raises `InvalidPlan` for another snapshot, and for a policy or prices that cannot be read;
    otherwise what `apply_plan` and `check_applied` raise.
    """
    from rackwise.adapters import files
    from rackwise.core.planning.proof.applied import apply_plan
    from rackwise.core.planning.proof.certificate import check_applied
    from rackwise.core.planning.proof.stated_totals import false_statements
    from rackwise.core.policy.differences import differences

    cluster = cluster_of_plan(
        plan, snapshot, plan_name=plan_name, snapshot_name=snapshot_name, sha256=sha256
    )
    policy = files.plan_policy(plan, where=plan_name)
    prices = files.plan_prices(plan, where=plan_name)
    applied = apply_plan(cluster, policy, plan, prices=prices)
    verdict = check_applied(applied, plan)
    problems = verdict.problems
    if verdict.is_proved:
        problems = false_statements(applied, plan, verdict, prices=prices)
    others = () if yours is None else differences(policy, yours)
    problems += tuple(f"expected your policy, got one with {setting}" for setting in others)
    return replace(verdict, problems=problems)


def cluster_of_plan(
    plan: Plan,
    snapshot: Cluster,
    *,
    plan_name: str,
    snapshot_name: str,
    sha256: str | None = None,
) -> Cluster:
    """Return the cluster that a plan was built from: its topics, as they were or as assumed.

    `sha256`: the fingerprint of the snapshot, where the caller has it.

    Raises `InvalidPlan` for another snapshot, and for a plan that names none.
    """
    from rackwise.adapters import files
    from rackwise.core.planning.problem.at_rest import assume_target

    wanted = plan.made_from.snapshot_sha256
    if not wanted:
        raise InvalidPlan(
            f"{escaped(plan_name)}: expected the hash of the snapshot that the plan was built "
            "from, got none",
            wanted="a SHA-256",
            had=wanted,
            hint="make the plan with rackwise plan --out",
            where="$.made_from.snapshot_sha256",
        )
    cluster = select_topics(snapshot, plan.made_from.topics)
    had = sha256 if sha256 and cluster is snapshot else files.fingerprint(cluster)
    if had == wanted:
        return cluster
    arrived = assume_target(cluster)
    if arrived is not cluster and files.fingerprint(arrived) == wanted:
        return arrived
    raise InvalidPlan(
        f"{escaped(plan_name)} was built from another snapshot than {escaped(snapshot_name)}: "
        f"expected the hash {wanted[:SHOWN]}.., got {had[:SHOWN]}..",
        wanted=wanted,
        had=had,
        hint="give the snapshot that the plan was built from, or plan again from this one",
        where="$.made_from.snapshot_sha256",
    )


def _text(plan: Plan, verdict: Verdict, settings: Sequence[str], name: str) -> str:
    from rackwise.cli.plan.goals import goal_text
    from rackwise.cli.plan.text import (
        amount,
        later_rows,
        left_alone_rows,
        objective_of,
        proof_text,
        replication_texts,
    )
    from rackwise.cli.tables import labelled_text

    objective = objective_of(plan)
    parts = [f"{escaped(name)}: {goal_text(plan.goal)}"]
    parts += [f"{counted(len(plan.moves) + len(plan.later), 'partition')} to change"]
    if objective in TO:
        parts.append(f"{amount(verdict.cost, objective)} to {TO[objective]}")
    rules = names_text(settings, most=SETTINGS) or "the default policy"
    rows = (
        ("policy", f"{rules}, sha256 {plan.made_from.policy_sha256[:SHOWN]}.."),
        *later_rows(replace(plan, verdict=verdict)),
        *left_alone_rows(plan),
        ("legal", _legal_text(plan) if verdict.is_legal else "no"),
        ("fair", "yes: no fairer loads exist" if verdict.is_fair else "no"),
        ("minimal", proof_text(verdict, objective)),
        *(("", text) for text in replication_texts(verdict)),
        *(("problem", escaped(problem)) for problem in verdict.problems),
    )
    return f"{', '.join(parts)}\n{labelled_text(rows)}"


def _legal_text(plan: Plan) -> str:
    """Format what the sets follow: the rules, or what the plan leaves of them."""
    if plan.left_alone is None or not plan.left_alone.broken:
        return "yes: every set follows the rules"
    return "yes: no partition breaks a rule more than before"


def _document(plan: Plan, verdict: Verdict, settings: tuple[str, ...]) -> ProofDocument:
    from rackwise.cli.plan.documents import ProofDocument

    return ProofDocument(
        plan_sha256=plan.sha256,
        snapshot_sha256=plan.made_from.snapshot_sha256,
        policy_sha256=plan.made_from.policy_sha256,
        policy_settings=settings,
        minimise=plan.minimise,
        moves=len(plan.moves),
        later=len(plan.later),
        cost=verdict.cost,
        lower_bound=verdict.lower_bound,
        gap=verdict.gap,
        replication=verdict.replication,
        is_legal=verdict.is_legal,
        left_alone=plan.left_alone,
        is_fair=verdict.is_fair,
        is_proved=verdict.is_proved,
        verdict=verdict.text,
        problems=tuple(verdict.problems),
    )
