"""Bounded locality by penalties, without coordination between producers."""

import math
import random

import pytest

from rack_splits import CLOSE, by_rack, numbers, racks_of, rates_of, split_vectors
from rackwise.core.errors import SplitError
from rackwise.core.partitioner.choice.rack_penalties import penalty_step, shares_from_penalties
from rackwise.core.partitioner.split.split import split_by_balance

EVEN = numbers("a 1 b 1 c 1")
STEPS, SETTLED = 300, 150


@pytest.mark.parametrize("case", split_vectors("prices"))
def test_vectors(case):
    racks = [f"rack-{number}" for number in range(len(case["before"]))]
    weights = dict.fromkeys(racks, 1.0)
    before, observed = by_rack(racks, case["before"]), by_rack(racks, case["observed"])
    after = penalty_step(before, observed, weights, case["eps"])
    assert dict(after) == pytest.approx(by_rack(racks, case["after"]), abs=CLOSE)
    shares = shares_from_penalties(after, weights, racks[0])
    assert dict(shares) == pytest.approx(by_rack(racks, case["shares_rack0_after"]), abs=CLOSE)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("case", split_vectors("prices_converge"))
def test_penalties_converge(case, seed):
    """Penalties settle near the optimum even if loads are observed late and with noise."""
    rng, racks = random.Random(seed), racks_of(case)
    weights, free = by_rack(racks, case["weights"]), by_rack(racks, case["rates"])
    total = sum(free.values())
    even = {rack: total * weight / sum(weights.values()) for rack, weight in weights.items()}
    penalty, seen, local, factor = dict.fromkeys(racks, 0.0), [], [], []
    for step in range(STEPS):
        rows = {rack: shares_from_penalties(penalty, weights, rack) for rack in racks}
        load = {r: sum(free[c] * rows[c][r] for c in racks) for r in racks}
        local.append(sum(free[rack] * rows[rack][rack] for rack in racks) / total)
        factor.append(max(load[rack] / even[rack] for rack in racks))
        seen.append(
            {r: x * (1 + rng.uniform(-case["noise"], case["noise"])) for r, x in load.items()}
        )
        if step >= case["lag"]:
            late = seen[step - case["lag"]]
            penalty = penalty_step(penalty, late, weights, case["eps"], gain=case["gain"])
    best = split_by_balance(rates_of(case), weights, case["eps"]).local_share
    assert best == pytest.approx(case["best"], abs=1e-3)
    settled = sum(local[SETTLED:]) / (STEPS - SETTLED)
    assert settled == pytest.approx(case["local_share"], abs=0.01)
    assert max(factor[SETTLED:]) == pytest.approx(case["worst_load_factor"], abs=0.02)


class TestPenalties:
    def test_no_penalty_while_no_rack_is_overloaded(self):
        assert penalty_step({}, EVEN, EVEN, 0) == numbers("a 0 b 0 c 0")

    def test_penalties_stay_where_nothing_was_sent(self):
        assert penalty_step(numbers("a 1"), {}, EVEN, 0.1) == numbers("a 1 b 0 c 0")

    def test_no_penalty_for_a_rack_without_weight(self):
        found = penalty_step(numbers("c 1"), numbers("c 9 a 1"), numbers("a 1 b 1 c 0"), 0.1)
        assert found == numbers("a 0 b 0 c 0")

    def test_penalties_fall_without_a_bound(self):
        assert penalty_step(numbers("a 1"), EVEN, EVEN, math.inf)["a"] == pytest.approx(0.8)

    @pytest.mark.parametrize(
        ("penalty", "observed", "weights", "eps"),
        [
            ("a -1", "a 1", "a 1", 0.1),
            ("a 1", "a nan", "a 1", 0.1),
            ("a 1", "a 1", "a 0", 0.1),
            ("a 1", "a 1", "a 1", math.nan),
        ],
    )
    def test_invalid_penalty_input_is_rejected(self, penalty, observed, weights, eps):
        with pytest.raises(SplitError):
            penalty_step(numbers(penalty), numbers(observed), numbers(weights), eps)


class TestShares:
    def test_all_bytes_stay_local_without_penalties(self):
        assert shares_from_penalties({}, EVEN, "b") == numbers("a 0 b 1 c 0")

    def test_weights_decide_where_the_own_rack_has_no_leaders(self):
        weights = numbers("a 3 b 1 c 0")
        assert shares_from_penalties({}, weights, "c") == numbers("a .75 b .25 c 0")
        assert shares_from_penalties({}, weights, "elsewhere") == numbers("a .75 b .25 c 0")
        found = shares_from_penalties({"b": math.log(2)}, weights, "c")
        assert dict(found) == pytest.approx({"a": 6 / 7, "b": 1 / 7, "c": 0})

    def test_penalties_of_any_size(self):
        found = shares_from_penalties(numbers("a 5000 b 5000 c 5000"), EVEN, "a")
        assert dict(found) == pytest.approx({"a": 1 / 1.04, "b": 0.02 / 1.04, "c": 0.02 / 1.04})
        assert shares_from_penalties(numbers("a 9000"), EVEN, "a")["b"] == pytest.approx(0.5)

    @pytest.mark.parametrize("leak", [-0.1, 1.5, math.nan])
    def test_an_invalid_leak_is_rejected(self, leak):
        with pytest.raises(SplitError) as raised:
            shares_from_penalties({}, EVEN, "a", leak=leak)
        assert raised.value.message == f"invalid leak: expected 0 to 1, got {leak}"

    def test_a_single_rack_leaks_nothing(self):
        assert shares_from_penalties(numbers("a 9000"), EVEN, "a", leak=0) == numbers("a 1 b 0 c 0")

    def test_no_weight_is_rejected(self):
        with pytest.raises(
            SplitError,
            match=r"^invalid weights: expected at least one rack with a weight above 0, got none",
        ):
            shares_from_penalties({}, {}, "a")
        with pytest.raises(SplitError, match=r"^invalid penalty of a: expected 0 to 2\^63, got -1"):
            shares_from_penalties({"a": -1}, EVEN, "a")
