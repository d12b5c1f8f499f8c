"""Plans with other lists, dressed so that all other statements fit them, as a careful forger does.

The forger has all of Rackwise but the solver: moves, sums, dollars, reasons, fair loads and the
verdict are made again from the forged lists. What is left to lie about is that nothing is cheaper.

```
proved plan ──> some lists changed ──> applied ──> moves, totals, verdict ──> sealed ──> proof
```

A forgery that is proved must be as good as the plan of the planner: legal, fair, as cheap, and its
sums are those of the cluster.
"""

from __future__ import annotations

from dataclasses import replace

import outside_claims
from forged_plans import CASES, cluster_of, plan_of, prices_of, proved
from laws_planning import check_plan
from rackwise.adapters.files import sealed_for
from rackwise.core.errors import RackwiseError
from rackwise.core.json.strict import parse
from rackwise.core.planning.model import Leaders, Move
from rackwise.core.planning.outcome.first_moves import first_moves, split_moves
from rackwise.core.planning.outcome.left_alone import left_alone_of
from rackwise.core.planning.outcome.move_columns import all_moves
from rackwise.core.planning.outcome.moves import counts_of, list_changes, moves_of
from rackwise.core.planning.outcome.totals import leader_totals, totals_of
from rackwise.core.planning.proof.applied import apply_plan
from rackwise.core.planning.proof.bound import prices_of_certificate
from rackwise.core.planning.proof.certificate import check_applied


def lists_of(case):
    """Topic and partition -> the replica list after the plan of a case."""
    after = {(row.topic, row.partition): list(row.replicas) for row in cluster_of(case).partitions}
    return after | {(one.topic, one.partition): list(one.after) for one in all_moves(plan_of(case))}


def swapped(lists, rng):
    """Two partitions exchange a broker, so that all loads stay."""
    one, other = rng.sample(sorted(lists), 2)
    gives = [broker for broker in lists[one] if broker not in lists[other]]
    takes = [broker for broker in lists[other] if broker not in lists[one]]
    if not gives or not takes:
        return f"{one} keeps {lists[one]}"
    give, take = rng.choice(gives), rng.choice(takes)
    lists[one][lists[one].index(give)] = take
    lists[other][lists[other].index(take)] = give
    return f"{one} takes {take} of {other} for {give}"


def moved(lists, rng):
    """A partition has another broker in the place of one."""
    place = rng.choice(sorted(lists))
    found = lists[place]
    at, new = rng.randrange(len(found)), rng.randint(1, 6)
    if new in found:
        found[at], found[found.index(new)] = new, found[at]
    else:
        found[at] = new
    return f"{place} becomes {found}"


def stayed(lists, rng, before):
    """A partition keeps its list."""
    place = rng.choice(sorted(lists))
    lists[place] = list(before[place])
    return f"{place} stays {lists[place]}"


def resized(lists, rng):
    """A partition has a replica more or less."""
    place = rng.choice(sorted(lists))
    if rng.random() < 0.5 and len(lists[place]) > 1:
        lists[place].pop()
    else:
        lists[place] += [rng.choice([each for each in range(1, 7) if each not in lists[place]])]
    return f"{place} becomes {lists[place]}"


def reordered(lists, rng):
    """A partition has another leader."""
    place = rng.choice(sorted(lists))
    rng.shuffle(lists[place])
    return f"{place} becomes {lists[place]}"


def forged_lists(case, rng):
    """Lists with one to four changes, and what was changed."""
    lists = lists_of(case)
    before = {
        (row.topic, row.partition): tuple(row.replicas) for row in cluster_of(case).partitions
    }
    kinds = (swapped, swapped, moved, reordered, resized, stayed)
    said = []
    for _ in range(rng.choice([1, 1, 2, 3, 4])):
        kind = rng.choice(kinds)
        said.append(kind(lists, rng, before) if kind is stayed else kind(lists, rng))
    return lists, "; ".join(said)


def dressed(case, lists, rng=None):
    """The content of the file of a plan with these lists; None where no moves lead to them.

    `rng`: also forges dual prices and the lower bound.
    """
    cluster, (policy, goal, options), prices = cluster_of(case), CASES[case], prices_of(case)
    moves = [
        Move(
            topic=row.topic,
            partition=row.partition,
            topic_id=None,
            before=tuple(row.replicas),
            after=tuple(lists[row.topic, row.partition]),
            bytes=row.bytes,
        )
        for row in cluster.partitions
        if list(row.replicas) != lists[row.topic, row.partition]
    ]
    made = replace(plan_of(case), moves=moves, later=())
    try:
        made = _fitting(made, apply_plan(cluster, policy, made, prices=prices), prices)
        if rng is not None:
            made = _with_other_bound(made, rng)
            verdict = check_applied(apply_plan(cluster, policy, made, prices=prices), made)
            made = replace(made, verdict=replace(verdict, problems=()))
    except RackwiseError:
        return None
    budget = options.get("max_moves")
    if budget is not None and not isinstance(goal, Leaders):
        made = _split(made, apply_plan(cluster, policy, made, prices=prices), budget)
    return sealed_for(made, cluster, prices)[0]


def _fitting(made, applied, prices):
    """The plan with all statements that follow from its lists and its certificates."""
    instance, after = applied
    change = list_changes(instance, after.lists)
    moves = moves_of(instance, change, prices)
    verdict = check_applied(applied, made)
    if isinstance(made.goal, Leaders):
        totals = leader_totals(instance, change, after.lists, prices)
    else:
        totals = totals_of(
            instance,
            change,
            after.lists,
            offers=prices_of_certificate(instance, made.certificate(made.minimise)),
            sets=after.sets,
            prices=prices,
            is_at_bound=True,
        )
    counts = counts_of(instance.view.cluster, moves)
    return replace(
        made,
        moves=moves,
        totals=totals,
        made_from=replace(made.made_from, partitions=counts),
        left_alone=left_alone_of(instance, after.lists),
        verdict=replace(verdict, problems=(), is_legal=True, is_fair=True),
    )


def _with_other_bound(made, rng):
    """Another price of one broker in a certificate, whose bound becomes the cost of the plan."""
    certificates = list(made.certificates)
    at = rng.randrange(len(certificates))
    one = certificates[at]
    prices = dict(one.prices)
    if prices and rng.random() < 0.7:
        broker = rng.choice(sorted(prices))
        prices[broker] += rng.choice([1, -1, 7, 10**9, -(10**9), -prices[broker]])
    bound = rng.choice([one.lower_bound, made.verdict.cost, made.totals.leader_changes])
    certificates[at] = replace(one, prices=prices, lower_bound=bound)
    return replace(made, certificates=tuple(certificates))


def _split(made, applied, budget):
    """The plan with the moves that fit the budget, and the others for later."""
    instance, after = applied
    change = list_changes(instance, after.lists)
    is_now = first_moves(instance, change, budget)
    now, later = split_moves(made.moves, is_now)
    return replace(made, moves=now, later=later)


def check_dressed(data, case):
    """Law: a dressed plan that is proved is as good as that of the planner.

    Whether it is proved.
    """
    found = proved(data, case)
    if found is None:
        return False
    real_plan, prices = plan_of(case), prices_of(case)
    outside_claims.check(parse(data, where="plan", error=ValueError), cluster_of(case), prices)
    whole = replace(found, moves=tuple(all_moves(found)), later=(), max_moves=None)
    check_plan(whole, cluster_of(case), CASES[case][0], prices=prices)
    costs = [(one.verdict.cost, one.verdict.replication) for one in (found, real_plan)]
    assert costs[0] == costs[1], f"{costs[0]} is proved; the plan of the planner costs {costs[1]}"
    return True
