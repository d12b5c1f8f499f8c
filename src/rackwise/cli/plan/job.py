"""The input of a plan: the cluster at rest, the goal, the policy and the prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rackwise.cli.source import read_provider_prices
from rackwise.core.errors import InvalidPrices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rackwise.cli.shell import Shell
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price

NO_POLICY = 'format = "rackwise.policy/1"\n'
"""The text of a policy with every default."""

Minimise = Literal["moves", "bytes", "usd"]
Solver = Literal["auto", "flow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanJob:
    """The input of a plan."""

    cluster: Cluster
    policy: Policy
    policy_text: str
    """The text of the policy file."""
    goal: Goal
    minimise: Minimise
    prices: tuple[Price, ...]
    topics: tuple[str, ...] = ("*",)
    solver: Solver = "auto"
    time_limit: float | None = None
    max_moves: int | None = None


def at_rest(cluster: Cluster, *, assume_target: bool) -> Cluster:
    """Return the cluster without running reassignments. Raises `InvalidSnapshot` if it has some."""
    from rackwise.core.planning.problem.at_rest import assume_target as arrived
    from rackwise.core.planning.problem.at_rest import check_at_rest

    if assume_target:
        return arrived(cluster)
    check_at_rest(cluster)
    return cluster


def internal_topics(shell: Shell, cluster: Cluster, *, is_selected: bool) -> list[str]:
    """Return the names of Kafka's internal topics; warn if there are none.

    `is_selected`: whether the cluster has only the topics of --topics.
    """
    found = sorted(name for name, topic in cluster.topics.items() if topic.is_internal)
    if not found:
        which = "selected topic" if is_selected else "topic of the snapshot"
        shell.warn(f"--no-internal has no effect: no {which} is internal")
    return found


def gather_job(
    shell: Shell,
    cluster: Cluster,
    goal: Goal,
    *,
    policy: Path | None,
    minimise: Minimise | None,
    prices: Path | None,
    provider: str | None,
    is_rack_unaware: bool = False,
    excluded: Sequence[str] = (),
) -> PlanJob:
    """Read the policy and the prices of a plan. `excluded`: globs of topics to leave alone."""
    from rackwise.core.planning.model import Leaders
    from rackwise.core.planning.plan import check_minimise
    from rackwise.core.planning.problem.goals import resolve_goal
    from rackwise.core.policy import DEFAULT_POLICY

    found, text = DEFAULT_POLICY, NO_POLICY
    if policy is not None:
        from rackwise.adapters import files

        read = files.read_policy(policy, max_bytes=shell.max_input)
        counting = cluster.settled(read.policy.racks.map)
        read.check(resolve_goal(goal, counting, read.policy).cluster)
        found, text = read.policy, read.text
    if is_rack_unaware or excluded:
        from rackwise.core.json.canonical import canonical_json
        from rackwise.core.policy.excluded_topics import exclude_topics
        from rackwise.core.policy.format import policy_table
        from rackwise.core.policy.rack_unaware import rack_unaware
        from rackwise.core.view import View

        found = exclude_topics(found, excluded)
        if is_rack_unaware:
            found = rack_unaware(found, View(cluster, found).levels)
        text = canonical_json(policy_table(found))
    # The cost in a policy is that of copies, and the goal leaders copies nothing.
    least = minimise or ("moves" if isinstance(goal, Leaders) else found.cost.minimise)
    check_minimise(goal, least)
    if prices is None and found.cost.prices is not None and policy is not None:
        prices = policy.parent / found.cost.prices
    return PlanJob(
        cluster=cluster,
        policy=found,
        policy_text=text,
        goal=goal,
        minimise=least,
        prices=read_prices(shell, prices, provider or found.cost.provider, minimise=least),
    )


def read_prices(
    shell: Shell, path: Path | None, provider: str | None, *, minimise: Minimise = "moves"
) -> tuple[Price, ...]:
    """Read the prices of one provider; empty if no prices are needed. Raises `InvalidPrices`."""
    if provider is not None:
        return read_provider_prices(shell, path, provider)
    if path is None and minimise != "usd":
        return ()
    raise InvalidPrices(
        f"{'--minimise usd' if path is None else '--prices'} requires --provider",
        wanted="--provider NAME",
        hint="for example --provider aws, or plan with --minimise moves",
    )
