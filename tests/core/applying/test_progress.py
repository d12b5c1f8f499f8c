"""Remaining bytes, rates, and the limiting broker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from applied_plans import move
from rackwise.core.applying.model import ApplyState, Caps, ObservedPartition, Progress, Sample
from rackwise.core.applying.progress import (
    BrokerRates,
    Busiest,
    Eta,
    Remaining,
    busiest,
    eta,
    eta_at,
    observed_rates,
    rates_of,
    remaining,
)
from vectors import planner_vectors

VECTOR = planner_vectors()["eta"]


def _moving(name, before, after, size, leader, arrived=None):
    adding = tuple(each for each in after if each not in before)
    seen = ObservedPartition(
        topic_id=None,
        replicas=(*after, *(each for each in before if each not in after)),
        adding=adding,
        leader=leader,
        adding_bytes=arrived or {},
    )
    return move(name, before, after, size), Progress(class_="moving", seen=seen)


def test_the_vector():
    pairs = [
        _moving(
            f"t-{i}",
            (row["leader"],),
            (row["leader"], *row["adding"]),
            row["bytes"],
            row["leader"],
        )
        for i, row in enumerate(VECTOR["moves"])
    ]
    left = remaining(pairs)
    assert {str(broker): n for broker, n in left.incoming.items()} == VECTOR["incoming_bytes"]
    assert {str(broker): n for broker, n in left.outgoing.items()} == VECTOR["outgoing_bytes"]
    assert eta_at(left, VECTOR["throttle_bytes_per_s"]) == Eta(
        seconds=VECTOR["eta_s"], bound_by=VECTOR["bound_by"]
    )


@given(
    st.dictionaries(st.integers(0, 4), st.integers(0, 5)),
    st.dictionaries(st.integers(0, 4), st.integers(0, 5)),
)
def test_the_busiest_broker_is_the_one_that_limits_the_time(incoming, outgoing):
    left = Remaining(incoming=incoming, outgoing=outgoing, total=sum(incoming.values()), unknown=0)
    found, limit = busiest(left), eta_at(left, 1)
    if found is None:
        assert limit == Eta(seconds=0, bound_by=None)
    else:
        bound_by = f"{found.way} of broker {found.broker}"
        assert limit == Eta(seconds=found.bytes, bound_by=bound_by)


def test_of_equal_brokers_the_receiver_with_the_lowest_id_is_the_busiest():
    left = Remaining(incoming={5: 9, 4: 9}, outgoing={1: 9}, total=18, unknown=0)
    assert busiest(left) == Busiest(broker=4, way="incoming", bytes=9)


def test_arrived_bytes_are_subtracted_and_never_below_0():
    left = remaining(
        [
            _moving("t-0", (1,), (1, 4), 100, 1, {4: 30}),
            _moving("t-1", (1,), (1, 5), 100, 1, {5: 130}),
        ]
    )
    assert (left.incoming, left.total) == ({4: 70, 5: 0}, 70)


def test_unknown_sizes_are_counted_and_unknown_leaders_do_not_limit():
    left = remaining(
        [_moving("t-0", (1,), (1, 4), None, 1), _moving("t-1", (1,), (1, 4), 50, None)]
    )
    assert (left.unknown, left.total, left.incoming, left.outgoing) == (1, 50, {4: 50}, {})


def test_unread_moves_are_all_remaining_and_final_ones_are_not():
    done = Progress(class_="done")
    left = remaining([(move("t-0", (1,), (2, 3), 10), Progress()), (move("t-1", (1,), (2,)), done)])
    assert left.incoming == {2: 10, 3: 10}


def test_nothing_to_copy_takes_no_time():
    pairs = [_moving("t-0", (1, 2), (2, 1), 10, 1)]
    assert eta(remaining(pairs), BrokerRates(incoming={}, outgoing={})) == Eta(
        seconds=0, bound_by=None
    )


def test_the_time_is_unknown_without_a_rate():
    left = remaining([_moving("t-0", (1,), (1, 4), 10, 1)])
    told = eta(left, BrokerRates(incoming={}, outgoing={}))
    assert told == Eta(seconds=None, bound_by="incoming of broker 4")


def test_a_broker_without_remaining_bytes_does_not_limit():
    left = remaining([_moving("t-0", (1,), (1, 4), 10, 1, {4: 10})])
    assert eta(left, BrokerRates(incoming={}, outgoing={})).seconds == 0


class TestObserved:
    samples = (
        Sample(from_ms=0, at_ms=1_000, incoming={4: 5_000}, outgoing={1: 5_000}),
        Sample(from_ms=1_000, at_ms=2_000, incoming={4: 1_000, 5: 2_000}, outgoing={1: 3_000}),
    )

    def test_observed_rate_is_bytes_per_time_of_the_window(self):
        rates = observed_rates(self.samples)
        assert rates.incoming == {4: 3_000, 5: 1_000}
        assert (rates.outgoing, rates.default_in, rates.default_out) == (
            {1: 4_000},
            3_000,
            4_000,
        )

    def test_a_window_without_time_has_no_rate(self):
        nothing = BrokerRates(incoming={}, outgoing={})
        assert observed_rates(()) == nothing
        assert observed_rates((Sample(from_ms=5, at_ms=5, incoming={}, outgoing={}),)) == nothing

    def test_the_rate_is_the_lower_of_throttle_and_observation(self):
        state = ApplyState(
            plan="",
            moves={},
            caps=Caps(),
            live=frozenset({1, 4, 5, 6}),
            rates_in={4: 2_000, 5: 7_000},
            samples=self.samples,
        )
        rates = rates_of(state)
        assert rates.incoming == {1: 3_000, 4: 2_000, 5: 1_000, 6: 3_000}
        assert rates.outgoing == {1: 4_000, 4: 4_000, 5: 4_000, 6: 4_000}

    def test_no_rate_without_throttle_and_observation(self):
        state = ApplyState(plan="", moves={}, caps=Caps(), live=frozenset({1}))
        assert rates_of(state).incoming == {}
