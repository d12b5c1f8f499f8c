"""Forged plans: the document of a proved plan with some values changed, and sealed again.

A forgery that is still proved must make the same claims. Only evidence may differ (any dual prices
of the brokers and topics of the cluster are valid, up to 2^50), the name of the solver, words for
the same topics, the order behind the leader, the goal, which is then reached as cheaply as can be,
and --max-moves, if it gives the same moves.

`dressed_plans` forges the lists of a plan, and then makes all other statements fit them.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import outside_claims
from planner_vectors import CENTS
from rackwise.adapters.files import parse_plan, sealed_for
from rackwise.adapters.files.plan.format import policy_sha256
from rackwise.adapters.files.plan.write import plan_bytes
from rackwise.cli.plan.proof import judge
from rackwise.core.errors import RackwiseError
from rackwise.core.json.canonical import canonical_json, sha256_of
from rackwise.core.json.strict import parse
from rackwise.core.planning.model import (
    Balance,
    Drain,
    Leaders,
    Repair,
    Replace,
    SetReplication,
    Verdict,
)
from rackwise.core.planning.plan import plan
from rackwise.core.policy import BalancePolicy, Policy, Slack, TopicBlock
from small_clusters import small_cluster

ZONES = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
LISTS = {
    **{f"t-{number}": [1, 2, 3] for number in range(4)},
    **{f"u-{number}": [2, 3] for number in range(3)},
    "v-0": [1, 4, 2],
}
SIZES = {name: (place + 1) * 2**30 for place, name in enumerate(LISTS)}
CLUSTER = small_cluster(ZONES, LISTS, sizes=SIZES)
RATED = replace(
    CLUSTER,
    partitions=replace(
        CLUSTER.partitions, bytes_in_per_s=np.arange(1, len(LISTS) + 1, dtype=np.int64)
    ),
)
"""The same cluster, measured, so that the price of replication is an objective."""
SPREAD = Policy(topics=(TopicBlock(match=("t",), topic_spread="even"),))
FREE = Policy(topics=(TopicBlock(match=("v",), spread={"zone": "off"}),))
CASES = {
    "balance": (Policy(), Balance(), {}),
    "bytes": (Policy(), Balance(), {"minimise": "bytes"}),
    "dollars": (Policy(), Balance(), {"prices": CENTS, "minimise": "usd"}),
    "priced": (Policy(), Repair(), {"prices": CENTS}),
    "slack": (Policy(balance=BalancePolicy(replicas=Slack(1))), Balance(), {}),
    "topic spread": (SPREAD, Balance(), {}),
    "drain": (Policy(), Drain((2,)), {}),
    "replace": (FREE, Replace(((2, 5),)), {}),
    "replication": (Policy(), SetReplication((("u", 3),)), {}),
    "leaders": (Policy(), Leaders(), {}),
    "max moves": (Policy(), Balance(), {"max_moves": 4}),
    "rated": (Policy(), Balance(), {"prices": CENTS}),
}
MOST_PRICE = 2**50
"""Dual prices up to here count."""


def cluster_of(case):
    return RATED if case == "rated" else CLUSTER


def prices_of(case):
    """The price table of a case; none without."""
    return CASES[case][2].get("prices", ())


@cache
def plan_of(case):
    """The plan of a case, as it is read from its file."""
    return parse_plan(data_of(case), where="plan")


@cache
def data_of(case):
    """The content of the file of the plan of a case."""
    policy, goal, options = CASES[case]
    cluster = cluster_of(case)
    return sealed_for(plan(cluster, policy, goal, **options), cluster, prices_of(case))[0]


def document_of(case):
    """The document of the plan of a case, as in its file."""
    return parse(data_of(case), where="plan", error=ValueError)


def places(value, path=""):
    """The path and the steps of every value below this one; `[]` is any index of a list.

    Each certificate has its own path, so that every field of each of them is forged.
    """
    if isinstance(value, dict):
        for key, each in value.items():
            name = key if path.count(".") < 6 else "*"
            yield f"{path}.{name}", (key,)
            yield from ((p, (key, *steps)) for p, steps in places(each, f"{path}.{name}"))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            name = f"{path}[{index if path == '.certificates' else ''}]"
            yield name, (index,)
            yield from ((p, (index, *steps)) for p, steps in places(each, name))


@cache
def entries():
    """The name of a list -> the entries that it has in the plans of all cases."""
    found = {}
    for document in map(document_of, CASES):
        for _, steps in places(document):
            *_, name, last = (None, *steps)
            if isinstance(last, int) and isinstance(name, str):
                found.setdefault(name, []).append(at(document, steps))
    return found


def at(document, steps):
    """The value at the end of the steps."""
    for step in steps:
        document = document[step]
    return document


def forged(value, rng, others, more):
    """Another value in the place of this one; `more`: further entries, if it is a list."""
    if isinstance(value, bool):
        return not value
    if value is None:
        return rng.choice([0, "a", True, []])
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, 0, -value, value * 2 + 1, None, 2**40, 2**60])
    if isinstance(value, str):
        return rng.choice([value + "x", "", rng.choice(others), None])
    if isinstance(value, list):
        longer = [*value, *(value[:1] or [1])]
        richer = [*value, rng.choice(more or [1])]
        return rng.choice([[], value[1:], value[::-1], longer, richer, None])
    keys = sorted(value)
    if not keys:
        return {"a": 1}
    key = rng.choice(keys)
    return rng.choice(
        [{}, {k: v for k, v in value.items() if k != key}, {**value, key + "0": value[key]}]
    )


def sealed_again(document):
    """The content of the file of a forged document, with the hash that belongs to it."""
    body = {key: each for key, each in document.items() if key != "sha256"}
    return canonical_json({**body, "sha256": sha256_of(body)}).encode()


def judged(made, case):
    """The verdict of `rackwise proof --policy` on a plan, or the message of its error."""
    cluster, policy = cluster_of(case), CASES[case][0]
    try:
        return judge(made, cluster, policy, plan_name="plan", snapshot_name="snapshot")
    except RackwiseError as error:
        return error.message


def proved(data, case):
    """The plan in a file that `rackwise proof --policy` accepts; None if it does not.

    The verdict is the same if the plan is written as Rackwise does, and its moves are columns.
    """
    try:
        made = parse_plan(data, where="plan")
    except RackwiseError:
        return None
    verdict = judged(made, case)
    assert judged(parse_plan(plan_bytes(made), where="plan"), case) == verdict
    return made if isinstance(verdict, Verdict) and verdict.is_proved else None


def claims(made, other):
    """A plan without what may differ, and without what the other leaves out."""
    totals = replace(
        made.totals,
        monthly=made.totals.monthly if other.totals.monthly else None,
        goal_moves=None if other.totals.goal_moves is None else made.totals.goal_moves,
    )
    return replace(
        made,
        sha256="",
        solver="",
        goal=Repair(),
        made_from=replace(made.made_from, topics=()),
        moves=tuple(replace(move, after=tuple(sorted(move.after))) for move in made.moves),
        later=tuple(replace(move, after=tuple(sorted(move.after))) for move in made.later),
        totals=totals,
        max_moves=None,
        certificates=tuple(map(without_evidence, made.certificates)),
    )


def without_evidence(certificate):
    """The certificate without the dual prices that may have any value."""
    return replace(
        certificate,
        prices={
            broker: price
            for broker, price in certificate.prices.items()
            if broker not in ZONES or abs(price) > MOST_PRICE
        },
        topic_prices=tuple(
            one
            for one in certificate.topic_prices
            if certificate.objective == "leaders"
            or one.topic not in CLUSTER.topics
            or one.broker not in ZONES
            or not 0 <= one.price <= MOST_PRICE
        ),
    )


def check_budget(found, real_plan, case):
    """Another budget gives the same moves."""
    if found.max_moves != real_plan.max_moves:
        policy, goal, options = CASES[case]
        made = plan(cluster_of(case), policy, goal, **{**options, "max_moves": found.max_moves})
        assert (found.moves, found.later) == (made.moves, made.later)


@dataclass(frozen=True)
class Edit:
    """One value of a document that is replaced by another."""

    path: str
    """Keys, and `[]` for any index of a list."""
    steps: tuple
    value: object

    def made_in(self, document):
        """Replace the value; a policy gets the hash that belongs to it."""
        *steps, last = self.steps
        parent = at(document, steps)
        parent[last] = deepcopy(self.value)
        if self.path == ".made_from.policy" and isinstance(self.value, str):
            parent["policy_sha256"] = policy_sha256(self.value)

    def __str__(self):
        steps = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.steps)
        return f"{steps} -> {canonical_json(self.value)[:120]}"


OTHERS = ("t", "u", "*", "moves", "/a")
"""Texts that a forged text may become."""


def edit_of(document, path, steps, rng, case):
    """An edit of the value at the end of the steps, which changes it."""
    value = at(document, steps)
    made = value
    while made == value:
        made = forged(value, rng, [case, *OTHERS], entries().get(steps[-1], ()))
    return Edit(path, steps, made)


def edited(document, edits):
    """A copy of the document with these edits."""
    made = deepcopy(document)
    for edit in edits:
        edit.made_in(made)
    return made


def different_claims(document, case):
    """Whether a forged document is proved and claims what the plan of its case does not.

    Raises `AssertionError` where a proved one states false sums, or another budget changes it.
    """
    found = proved(sealed_again(document), case)
    if found is None:
        return False
    real_plan = plan_of(case)
    check_budget(found, real_plan, case)
    outside_claims.check(document, cluster_of(case), prices_of(case))
    return claims(found, real_plan) != claims(real_plan, found)
