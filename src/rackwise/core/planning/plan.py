"""The planner: the cheapest legal sets with fair loads, their leaders, and the proof.

```
goal, policy, cluster  -> Instance        rules as columns                    problem
                       -> Targets         fair loads, topic caps              fair_loads
                       -> sets            by flow, or rack by rack            search
                       -> fewer changes   at the same cost                    search.tie_breaking
                       -> prices, bound   from the sets alone                 proof
                       -> leaders, lists  for these sets                      leaders
                       -> moves, totals   in execution order                  outcome
```

The same input and the same solver version give the same plan. Search and proof share only the
problem, the fair loads and the values.

Limits: this module reads and writes no files, and looks at no running cluster.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.errors import Infeasible, InvalidConfig, NoFlow
from rackwise.core.json.canonical import canonical_json, sha256_of
from rackwise.core.planning.fair_loads.targets import fair_of, targets_of
from rackwise.core.planning.leaders.expected import with_steady_costs
from rackwise.core.planning.leaders.fair_groups import fair_leaders_of, leader_groups
from rackwise.core.planning.leaders.replica_lists import choose_lists, leader_certificate
from rackwise.core.planning.model import (
    Balance,
    Fair,
    Leaders,
    MadeFrom,
    Plan,
    SeenBroker,
    Verdict,
)
from rackwise.core.planning.outcome.first_moves import first_moves, split_moves
from rackwise.core.planning.outcome.left_alone import left_alone_of
from rackwise.core.planning.outcome.moves import counts_of, list_changes, moves_of
from rackwise.core.planning.outcome.totals import leader_totals, totals_of
from rackwise.core.planning.problem.at_rest import check_at_rest
from rackwise.core.planning.problem.cheapest_sets import BrokerPrices, cheapest_sets
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.problem.rack_bounds import infeasible_partitions
from rackwise.core.planning.proof.bound import certify, infeasible, prices_of_certificate
from rackwise.core.planning.proof.fair_replicas import fairness_problems
from rackwise.core.planning.proof.replication import certify_replication
from rackwise.core.planning.search.by_flow import by_flow
from rackwise.core.planning.search.by_rack import are_racks_independent, by_rack, needs_flow
from rackwise.core.planning.search.tie_breaking import break_ties
from rackwise.core.policy import DEFAULT_POLICY
from rackwise.core.policy.format import policy_table
from rackwise.core.solver import FlowStopped, cheapest_flow, solver_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rackwise.core.model import Cluster, FairLoads, Ragged
    from rackwise.core.planning.fair_loads.targets import Targets
    from rackwise.core.planning.model import Certificate, Goal, Minimise, Solver
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.proof.replication import ProvedReplication
    from rackwise.core.policy import Policy
    from rackwise.core.solver import Solve
    from rackwise.core.traffic import Price

_BALANCE = Balance()


def never_stop() -> bool:
    """Never stop a search."""
    return False


def no_progress(steps: int) -> None:
    """Report no progress; `steps` is the number of further steps done."""


def check_minimise(goal: Goal, minimise: Minimise) -> None:
    """Raise `InvalidConfig` for a goal that copies nothing and another cost than moves."""
    if isinstance(goal, Leaders) and minimise != "moves":
        raise InvalidConfig(
            f"the goal leaders cannot minimise {minimise}: it copies nothing, so every plan of it "
            f"costs 0 {minimise}",
            wanted="moves",
            had=minimise,
            hint="plan without --minimise: the fewest preferred leaders change; the goal balance "
            "also moves replicas",
        )


def fair_loads(
    cluster: Cluster, policy: Policy = DEFAULT_POLICY, goal: Goal = _BALANCE
) -> FairLoads:
    """The fair loads of each broker; leaders are fair for the current replica sets.

    Raises what `plan` raises for a cluster and a policy.
    """
    instance = instance_of(cluster, policy, goal)
    _check_possible(instance)
    fair = fair_of(instance, targets_of(instance))
    leaders = fair_leaders_of(instance, instance.held)
    return replace(fair, leader_groups=leader_groups(instance, leaders)).loads()


def plan(
    cluster: Cluster,
    policy: Policy = DEFAULT_POLICY,
    goal: Goal = _BALANCE,
    *,
    minimise: Minimise = "moves",
    prices: Sequence[Price] = (),
    solver: Solver = "auto",
    max_moves: int | None = None,
    should_stop: Callable[[], bool] = never_stop,
    most_memory: int | None = None,
    solve: Solve = cheapest_flow,
    progress: Callable[[int], None] = no_progress,
) -> Plan:
    """The plan that reaches the goal with the fewest moves, bytes or dollars, and its proof.

    Among plans with equal moves, the one with the lowest price of replication is chosen, as far as
    rates and prices are known. `prices`: rows of one provider, required for dollars. `max_moves`:
    replicas that `moves` add at most; the other moves are `later` (`outcome.first_moves`).
    `should_stop`: once it is true, the best legal plan so far is returned with its gap.
    `most_memory`: bytes that the search may take, None = any. `solve`: finds the flows of the
    search; if it raises `FlowStopped`, the search ends as if `should_stop` were true. `progress`:
    called with 1 after each step.

    Raises `InvalidSnapshot` if something reassigns or required sizes are unknown, `InvalidPolicy`,
    `InvalidConfig` for invalid input, such as another cost than moves with the goal `leaders`,
    `PartialRacks`,
    `Infeasible` where a partition has no legal set, `InvalidPrices` where dollars are minimised and
    a level has no price, `NotEnoughMemory`, and `MissingDependency` without ortools.
    """
    check_at_rest(cluster)
    check_minimise(goal, minimise)
    instance = instance_of(cluster, policy, goal, minimise=minimise, prices=prices)
    made_from = made_from_of(instance, policy)
    if isinstance(goal, Leaders):
        return replace(_leaders_plan(instance, made_from, prices), max_moves=max_moves)
    _check_possible(instance)
    instance = with_steady_costs(instance, prices)
    targets = targets_of(instance)
    progress(1)
    sets, solver_text = _search_sets(instance, targets, solver, should_stop, most_memory, solve)
    progress(1)
    if not should_stop():
        sets = break_ties(instance, sets, targets.caps)
    progress(1)
    fair = fair_of(instance, targets)
    certificate = certify(instance, sets, fair)
    replication = certify_replication(instance, sets, fair)
    progress(1)
    leaders = choose_lists(instance, sets)
    fair = replace(fair, leader_groups=leader_groups(instance, leaders.leaders))
    change = list_changes(instance, leaders.lists)
    moves = moves_of(instance, change, prices)
    is_now = None if max_moves is None else first_moves(instance, change, max_moves)
    now, later = (moves, ()) if is_now is None else split_moves(moves, is_now)
    verdict = _verdict(instance, sets, certificate, replication, should_stop)
    progress(1)
    return Plan(
        cluster_id=cluster.cluster_id,
        made_from=replace(made_from, partitions=counts_of(cluster, moves)),
        goal=goal,
        minimise=minimise,
        solver=solver_text,
        moves=now,
        totals=totals_of(
            instance,
            change,
            leaders.lists,
            offers=prices_of_certificate(instance, certificate),
            sets=sets,
            prices=prices,
            is_at_bound=verdict.is_at_bound,
        ),
        fair=fair,
        certificates=(
            certificate,
            leader_certificate(instance, leaders.leaders),
            *([] if replication is None else [replication.certificate]),
        ),
        verdict=verdict,
        hypothetical=cluster.source == "suppose",
        left_alone=left_alone_of(instance, leaders.lists),
        max_moves=max_moves,
        later=later,
    )


def made_from_of(instance: Instance, policy: Policy) -> MadeFrom:
    """The inputs of a plan; the caller adds the hash of the snapshot."""
    text = canonical_json(policy_table(policy))
    return MadeFrom(
        snapshot_sha256="",
        brokers=MappingProxyType(
            {
                broker.id: SeenBroker(broker.rack, broker.is_fenced)
                for broker in instance.view.cluster.brokers
            }
        ),
        policy=text,
        policy_sha256=sha256_of(policy_table(policy)),
    )


def _check_possible(instance: Instance) -> None:
    if infeasible_partitions(instance):
        raise infeasible(instance)


def _search_sets(
    instance: Instance,
    targets: Targets,
    solver: Solver,
    should_stop: Callable[[], bool],
    most_memory: int | None,
    solve: Solve,
) -> tuple[Ragged, str]:
    """The sets, and the name and version of the solver that found them."""
    if len(instance) and instance.is_frozen.all():
        return instance.held, "none"
    if should_stop():
        return _cheapest_alone(instance), "none"
    version = solver_version()
    ranges = targets.ranges
    try:
        if solver == "auto" and ranges is not None and are_racks_independent(instance, targets):
            if not needs_flow(instance):
                return by_rack(instance, ranges, should_stop=should_stop), "closed form"
            path = f"flow per rack, ortools {version}"
            return by_rack(instance, ranges, should_stop=should_stop, solve=solve), path
        sets = by_flow(
            instance, targets, should_stop=should_stop, most_memory=most_memory, solve=solve
        )
    except FlowStopped:
        return _cheapest_alone(instance), "none"
    except NoFlow as error:
        raise Infeasible(
            "no fair loads: the rules and the topic caps contradict each other",
            impossible=[error.message],
            hint="set balance.replicas to a slack, or turn topic_spread off",
        ) from error
    if sets is None:
        return _cheapest_alone(instance), "none"
    return sets, f"flow, ortools {version}"


def _cheapest_alone(instance: Instance) -> Ragged:
    """The cheapest set of each partition, whatever the loads."""
    return cheapest_sets(instance, BrokerPrices.flat(instance), with_sets=True).sets


def _verdict(
    instance: Instance,
    sets: Ragged,
    certificate: Certificate,
    replication: ProvedReplication | None,
    should_stop: Callable[[], bool],
) -> Verdict:
    cost = instance.cost(sets)
    is_legal = bool(instance.legal(sets).all())
    problems = fairness_problems(instance, sets, certificate, is_legal=is_legal)
    gap = cost - certificate.lower_bound
    of_replication = None if replication is None else replication.verdict
    gaps = (gap, 0 if of_replication is None else of_replication.gap)
    return Verdict(
        cost=cost,
        lower_bound=certificate.lower_bound,
        gap=gap,
        is_legal=is_legal,
        is_fair=not problems,
        problems=tuple(problems),
        is_heuristic=(max(gaps) > 0 or bool(problems)) and should_stop(),
        replication=of_replication,
    )


def _leaders_plan(instance: Instance, made_from: MadeFrom, prices: Sequence[Price]) -> Plan:
    """A plan that changes leaders and keeps the sets."""
    leaders = choose_lists(instance, instance.held)
    change = list_changes(instance, leaders.lists)
    moves = moves_of(instance, change, prices)
    chosen = leaders.leaders
    view = instance.view
    return Plan(
        cluster_id=view.cluster.cluster_id,
        made_from=replace(made_from, partitions=counts_of(view.cluster, moves)),
        goal=instance.goal,
        minimise=instance.minimise,
        solver="leaders",
        moves=moves,
        totals=leader_totals(instance, change, leaders.lists, prices),
        fair=Fair(leader_groups=leader_groups(instance, chosen)),
        certificates=(leader_certificate(instance, chosen),),
        verdict=Verdict(
            cost=chosen.cost,
            lower_bound=chosen.lower_bound,
            gap=chosen.cost - chosen.lower_bound,
            is_legal=True,
            is_fair=True,
        ),
        hypothetical=view.cluster.source == "suppose",
        left_alone=left_alone_of(instance, leaders.lists),
    )
