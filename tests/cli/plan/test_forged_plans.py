"""Plans that somebody edited and sealed again: nothing that they state may be false and proved.

`forged_plans` says what a forgery may change and stay proved.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from random import Random

import pytest

import outside_claims
from forged_plans import (
    CASES,
    CLUSTER,
    MOST_PRICE,
    cluster_of,
    data_of,
    different_claims,
    document_of,
    edit_of,
    edited,
    places,
    plan_of,
    prices_of,
    proved,
    sealed_again,
)
from rackwise.adapters.files import fingerprint, parse_plan
from rackwise.adapters.files.plan.write import plan_bytes
from rackwise.core.planning.outcome.move_columns import MoveColumns

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


def forge(case, each, seed, most=None):
    """How often each field was forged, and the forgeries with other claims that are proved.

    `each`: forgeries of a field; `most`: of all.
    """
    document = document_of(case)
    assert proved(data_of(case), case) is not None
    by_path = {}
    for path, steps in places(document):
        by_path.setdefault(path, []).append(steps)
    del by_path[".sha256"]  # the seal, which is always right
    rng, tried, bad = Random(f"{case} {seed}"), Counter(dict.fromkeys(by_path, 0)), []
    paths = [path for path in sorted(by_path) for _ in range(each)]
    for path in paths if most is None else rng.sample(paths, most):
        edit = edit_of(document, path, rng.choice(by_path[path]), rng, case)
        tried[path] += 1
        if different_claims(edited(document, [edit]), case):
            bad.append(str(edit))
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
    outside_claims.check(document_of(case), cluster_of(case), prices_of(case))


def test_the_snapshot_of_the_cases_is_the_one_that_is_judged():
    made = plan_of("balance")
    assert made.made_from.snapshot_sha256 == fingerprint(CLUSTER)
