"""Plans that somebody edited and sealed again: nothing that they state may be false and proved.

Each forgery changes one value somewhere in the document of a proved plan, and seals it. A plan that
is still proved must make the same claims. Only evidence may differ (any dual prices of the brokers
and topics of the cluster are valid, up to 2^50), the name of the solver, words for the same topics,
the order behind the leader, the goal, which is then reached as cheaply as can be, and --max-moves,
if it gives the same moves.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest

import outside_claims
from planner_vectors import CENTS
from rackwise.adapters.files import fingerprint, parse_plan, sealed_for
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
from rackwise.core.planning.outcome.move_columns import MoveColumns
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
FORGERIES = 40
"""Of each case, in every run."""
MOST = (
    "dollars",
    "topic spread",
    "leaders",
    "max moves",
    "drain",
    "replace",
    "replication",
    "rated",
)
"""Cases whose documents have every field between them; `test_most_cases` compares them."""
EACH = 55
"""Forgeries of each field of these, in a long run."""
MOST_PRICE = 2**50


def cluster_of(case):
    return RATED if case == "rated" else CLUSTER


def document_of(case):
    """The document of the plan of a case, as in its file."""
    policy, goal, options = CASES[case]
    cluster = cluster_of(case)
    made = plan(cluster, policy, goal, **options)
    data, _ = sealed_for(made, cluster, options.get("prices", ()))
    return parse(data, where="plan", error=ValueError)


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


def forge(case, each, seed, most=None):
    """How often each field was forged, and the forgeries with other claims that are proved.

    `each`: forgeries of a field; `most`: of all.
    """
    document = document_of(case)
    real_plan = proved(sealed_again(document), case)
    assert real_plan is not None
    by_path = {}
    for path, steps in places(document):
        by_path.setdefault(path, []).append(steps)
    del by_path[".sha256"]  # the seal, which is always right
    rng, tried, bad = Random(f"{case} {seed}"), Counter(dict.fromkeys(by_path, 0)), []
    others = [case, "t", "u", "*", "moves", "/a"]
    paths = [path for path in sorted(by_path) for _ in range(each)]
    for path in paths if most is None else rng.sample(paths, most):
        false, value = document, None
        while false == document:
            false = deepcopy(document)
            *steps, last = rng.choice(by_path[path])
            parent = at(false, steps)
            value = forged(parent[last], rng, others, entries().get(last, ()))
            parent[last] = value
        if path == ".made_from.policy" and isinstance(value, str):
            parent["policy_sha256"] = policy_sha256(value)
        tried[path] += 1
        found = proved(sealed_again(false), case)
        if found is None:
            continue
        check_budget(found, real_plan, case)
        outside_claims.check(false, cluster_of(case), CASES[case][2].get("prices", ()))
        if claims(found, real_plan) != claims(real_plan, found):
            bad.append((path, value))
    return tried, bad


@pytest.mark.parametrize("case", CASES)
def test_no_forged_statement_is_proved(case):
    tried, bad = forge(case, 1, seed=1, most=FORGERIES)
    assert (tried.total(), bad) == (FORGERIES, [])


IGNORED_PRICES = {
    "unknown broker": ({"99999": 0}, []),
    "unknown broker, out of range": ({"99999": 2**60}, []),
    "out of range": ({"1": MOST_PRICE + 1}, []),
    "unknown topic": ({}, [["nope", 424242, 5, 7]]),
    "topic without this cap": ({}, [["t", 1, 5, 7]]),
}
"""Prices of brokers, and of topics on brokers, that no bound takes into account."""


@pytest.mark.parametrize("case", MOST)
@pytest.mark.parametrize("added", IGNORED_PRICES.values(), ids=IGNORED_PRICES)
def test_no_certificate_has_prices_that_its_bound_ignores(case, added):
    prices, topic_prices = added
    document = document_of(case)
    for number in range(len(document["certificates"])):
        false = deepcopy(document)
        certificate = false["certificates"][number]
        certificate["prices"].update(prices)
        certificate["topic_prices"].extend(topic_prices)
        assert proved(sealed_again(false), case) is None, certificate["objective"]


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("case", MOST)
def test_every_field_is_forged_many_times(case):
    tried, bad = forge(case, EACH, seed=2)
    assert min(tried.values()) == EACH
    assert bad == []


@pytest.mark.parametrize("case", CASES)
def test_the_moves_of_a_written_plan_are_columns(case):
    made = parse_plan(sealed_again(document_of(case)), where="plan")
    written = parse_plan(plan_bytes(made), where="plan")
    assert isinstance(made.moves, tuple)
    assert isinstance(written.moves, MoveColumns)
    assert isinstance(written.later, MoveColumns)
    assert written == made


def test_most_cases():
    """The long run forges every field that the document of any case has."""
    paths = {case: {path for path, _ in places(document_of(case))} for case in CASES}
    assert set().union(*paths.values()) == set().union(*(paths[case] for case in MOST))


@pytest.mark.parametrize("case", CASES)
def test_an_outside_checker_finds_no_fault(case):
    outside_claims.check(document_of(case), cluster_of(case), CASES[case][2].get("prices", ()))


def test_the_snapshot_of_the_cases_is_the_one_that_is_judged():
    made = parse_plan(sealed_again(document_of("balance")), where="plan")
    assert made.made_from.snapshot_sha256 == fingerprint(CLUSTER)
