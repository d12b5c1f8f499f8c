"""Searches the plan of a job and seals it; says why partitions cannot be placed."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rackwise.cli.usage.stopping import end_on_signal
from rackwise.core.errors import Infeasible
from rackwise.core.text import escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rackwise.adapters.files.plan.write import SealedPlan
    from rackwise.cli.plan.job import PlanJob
    from rackwise.cli.shell import Shell
    from rackwise.core.planning.model import Plan
    from rackwise.core.planning.rule_costs import RuleCost
    from rackwise.core.solver import Solve

READ, SEARCH, WRITE = 1, 5, 1
"""Steps of the progress bar: reading, the search, writing."""
SHOWN = 50
"""The text lists this many reasons why partitions cannot be placed."""
OTHERS_SHOWN = 5
"""One reason names this many further partitions."""


def search_plan(shell: Shell, job: PlanJob, advance: Callable[[int], None]) -> Plan:
    """Search the plan, without the hashes of a file. `advance` is called at each step."""
    from rackwise.core.planning.plan import plan as find

    try:
        with end_on_signal():
            return find(
                job.cluster,
                job.policy,
                job.goal,
                max_moves=job.max_moves,
                progress=advance,
                **_search_options(job),
            )
    except Infeasible as error:
        _print_reasons(shell, error)
        raise


def seal(job: PlanJob, found: Plan) -> SealedPlan:
    """Seal a plan with the hashes of its input."""
    from rackwise.adapters import files

    made_from = replace(
        found.made_from,
        snapshot_sha256=files.fingerprint(job.cluster),
        policy=job.policy_text,
        policy_sha256=files.policy_sha256(job.policy_text),
        topics=job.topics,
        prices=files.price_table(job.prices),
    )
    return files.sealed_with_data(replace(found, made_from=made_from))


def _print_reasons(shell: Shell, error: Infeasible) -> None:
    """Print why partitions cannot be placed, one line per reason; the JSON error has all."""
    if shell.is_json:
        return
    names_by_reason: dict[str, list[str]] = {}
    for each in error.impossible:
        name, _, reason = each.partition(": ")
        names_by_reason.setdefault(reason, []).append(name)
    for reason, names in list(names_by_reason.items())[:SHOWN]:
        shell.note(escaped(_reason_text(names, reason)))
    if len(names_by_reason) > SHOWN:
        shell.note(f"and {len(names_by_reason) - SHOWN} more; --json has all")


def _reason_text(names: Sequence[str], reason: str) -> str:
    """Format a reason with its partition and the others that share it."""
    first, *others = names
    same = f"; the same for {names_text(others, most=OTHERS_SHOWN)}" if others else ""
    return f"{first}: {reason}{same}"


def cost_of_rules(
    job: PlanJob, result: Plan, advance: Callable[[int], None]
) -> tuple[RuleCost, ...]:
    """Compute what each rule of the policy costs: the cost of the plan with it and without it."""
    from rackwise.core.planning.rule_costs import rule_costs

    options = _search_options(job)
    with end_on_signal():
        return rule_costs(
            job.cluster, job.policy, job.goal, planned=result, progress=advance, **options
        )


def _search_options(job: PlanJob) -> dict[str, Any]:
    """Build the other arguments of the search. The time limit starts now."""
    from rackwise.adapters.memory import free_memory, release_before
    from rackwise.core.solver import cheapest_flow

    end_s = math.inf
    solve: Solve = cheapest_flow
    if job.time_limit is not None:
        from rackwise.adapters.solver_process import solver_until

        end_s = time.monotonic() + job.time_limit
        solve = solver_until(end_s)
    return {
        "minimise": job.minimise,
        "prices": job.prices,
        "solver": job.solver,
        "should_stop": lambda: time.monotonic() >= end_s,
        "most_memory": free_memory(),
        "solve": release_before(solve),
    }
