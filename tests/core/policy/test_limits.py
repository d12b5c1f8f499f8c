import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidPolicy
from rackwise.core.policy import POLICY_FORMAT, AtLeast, RackCount, policy_of
from rackwise.core.policy.limits import fault_in

EU = RackCount(rack="/eu", min=2, max=2)


def refused(message, hint, *, levels=(), key="count", **block):
    table = {"format": POLICY_FORMAT, "topics": [{"match": ["*"], **block}]}
    with pytest.raises(InvalidPolicy) as caught:
        policy_of(table | ({"racks": {"levels": list(levels)}} if levels else {}))
    assert str(caught.value) == f"invalid policy at $.topics[0].{key}: {message}"
    assert hint in caught.value.hint
    assert caught.value.wanted is not None
    assert caught.value.had is not None


def test_counts_that_sum_to_more_than_replication():
    refused(
        "expected counts with a sum of at most replication 3, got the sum 4",
        "raise replication",
        replication=3,
        count=[{"rack": "/eu", "exactly": 2}, {"rack": "/us", "min": 2}],
    )


def test_more_pinned_brokers_than_replication():
    refused(
        "expected at most replication 2 brokers for partition 1, got 3",
        "pin fewer",
        key="pin",
        replication=2,
        pin={"0": [4], "1": [4, 5, 6]},
    )


@pytest.mark.parametrize("other", ["even", "distinct"])
def test_at_least_beside_another_spread(other):
    refused(
        f"expected at_least alone, got it together with {other}",
        'set every other level to "off"',
        key="spread",
        spread={"level1": other, "level2": {"at_least": 2}},
    )


def test_at_least_beside_count():
    refused(
        "expected at_least alone, got it together with even and count",
        "leave count out",
        key="spread",
        spread={"level1": "even", "level2": {"at_least": 2}},
        count=[{"rack": "/eu", "min": 1}],
    )


WIDE = 'set exactly, or set the spread of the level below to "off" or "distinct"'


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"min": 1, "max": 3}, "1 to 3"),
        ({"min": 1}, "1 or more"),
        ({"max": 2}, "0 to 2"),
    ],
)
@pytest.mark.parametrize(
    ("levels", "names"), [((), ("level1", "level2")), (("region", "zone"), ("region", "zone"))]
)
def test_even_below_a_wide_range(said, text, levels, names):
    refused(
        "expected one number, or two that differ by one, for /eu, as the level below is even, "
        f"got {text}",
        WIDE,
        levels=levels,
        spread={names[0]: "off", names[1]: "even"},
        count=[{"rack": "/eu", **said}],
    )


def fault(spread, *count, replication=None, others=False):
    return fault_in(
        spread=dict(enumerate(spread)),
        count=count,
        pin={},
        replication=replication,
        has_other_racks=others,
    )


def test_what_can_hold_together():
    open_eu = RackCount(rack="/eu")
    assert fault(["even", "even"]) is None
    assert fault(["off", AtLeast(2)]) is None
    assert fault([AtLeast(2), AtLeast(3)]) is None
    assert fault(["even", "even"], EU) is None
    assert fault(["even", "even"], RackCount(rack="/eu", min=1, max=2)) is None
    assert fault(["even", "distinct"], open_eu) is None
    assert fault(["even", "off"], open_eu, others=True) is None
    assert fault(["even", "even"], RackCount(rack="/eu/a")) is None
    assert fault(["off", "even"], open_eu, RackCount(rack="/eu/a", min=1, max=1)) is None
    assert fault(["even", "even"], RackCount(rack="/eu", min=2), replication=3) is None
    assert fault(["even", "even"], EU, replication=3, others=True) is None


def test_the_racks_beside_the_counted_ones_may_be_the_wide_ones():
    assert fault(["even", "even"], EU, replication=4, others=True).had == "0 to 2"
    assert fault(["even", "even"], EU, others=True).had == "0 or more"


def test_a_level_that_is_off_hands_the_range_down():
    wide = RackCount(rack="/eu", min=0, max=2)
    assert fault(["even", "off", "even"], wide).had == "0 to 2"
    assert fault(["even", "distinct", "even"], wide) is None


def test_the_racks_right_above_are_judged():
    counted = RackCount(rack="/eu"), RackCount(rack="/us/a", min=1)
    assert fault(["off", "off", "even"], *counted).had == "1 or more"


def test_a_rack_cannot_hold_more_than_the_others_leave():
    eu, us = RackCount(rack="/eu", min=1, max=3), RackCount(rack="/us", min=1)
    assert fault(["even", "even"], eu, us, replication=3) is None
    assert fault(["even", "even"], eu, us, replication=4).had == "1 to 3"


@given(st.integers(0, 4), st.integers(0, 4), st.integers(1, 8))
def test_sums_are_compared_with_replication(first, second, replication):
    counts = RackCount(rack="a", min=first), RackCount(rack="b", min=second)
    found = fault(["even"], *counts, replication=replication)
    assert (found is not None) == (first + second > replication)
