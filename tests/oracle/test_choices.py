"""Our choices under semantics `upstream` equal those of kafka-clients 4.4.0, on random producers.

The exhaustive profile draws them from the seed that pytest-randomly prints; `--randomly-seed=N`
repeats them.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest
from cases import LINES, QUEUES_OF_UPSTREAM
from choice_cases import key_case, load_case, ready_case, sticky_case

from choices import our_choice
from golden import answered

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
PARTS = 2
ASKED = [
    ("choice.sticky", sticky_case, 2_000),
    ("choice.load", load_case, 600),
    ("choice.ready", ready_case, 300),
    ("choice.key", key_case, 1_000),
]
MANY = 20
"""So many times as many are asked in the exhaustive profile."""


@pytest.fixture
def seed(request):
    return request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 1123


@pytest.fixture
def oracle(oracles):
    return oracles[LINES["choice.sticky"]]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("operation", "drawn", "count"), ASKED, ids=[name for name, *_ in ASKED])
def test_our_choices_are_upstreams(oracle, seed, operation, drawn, count, part):
    rng = Random(f"{seed} {part} {operation}")
    for number in range(count // PARTS * (MANY if IS_EXHAUSTIVE else 1)):
        case = drawn(rng)
        told = f"seed {seed}, part {part}, case {number}"
        assert our_choice(operation, case) == answered(oracle, operation, case), told


def test_where_racks_are_not_heeded_they_are_those_of_4_3_1_too(oracles, seed):
    rng = Random(f"{seed} plain")
    for number in range(300 * (MANY if IS_EXHAUSTIVE else 1)):
        case = sticky_case(rng) | {"rack_aware": False}
        answer = answered(oracles["4.3.1"], "choice.sticky", case)
        assert our_choice("choice.sticky", case) == answer, f"seed {seed}, case {number}"


class TestUpstreamsGate:
    """Upstream's accumulator gives weights only when every partition has had a record."""

    def test_a_rack_aware_producer_without_keys_never_balances(self, oracle):
        case = QUEUES_OF_UPSTREAM["only nearby partitions had records"]
        told = oracle.ask("choice.ready", case)
        assert told["total"] is None
        assert Counter(told["picks"]) == {0: 5, 3: 5, 6: 5, 9: 4}

    def test_the_same_queues_give_weights_where_every_partition_is_written(self, oracle):
        case = QUEUES_OF_UPSTREAM["not rack-aware, all partitions had records"]
        assert oracle.ask("choice.ready", case)["total"]["sums"][:2] == [1, 6 + 1]

    def test_an_empty_partition_inherits_the_size_of_the_late_one_before_it(self, oracle):
        case = QUEUES_OF_UPSTREAM["a late node's queue is left in its slot"]
        told = oracle.ask("choice.ready", case)
        assert told["total"] == {"sums": [1, 6], "partitions": [1, 2]}
