"""The state of a group after rebalances with the assignor "rack-optimal"."""

from hypothesis import given

from assignments import replicas_in, tps
from rackwise.core.assignors.measure.compare import simulate_assignor
from rackwise.core.assignors.members import Member
from strategies import consumer_groups

GROUP = {
    "m": Member(topics=("t",), rack="a", owned=tps("t-0 t-1"), generation=1),
    "n": Member(topics=("t",), rack="b", owned=tps("t-2 t-3"), generation=1),
}


def test_rack_optimal_withholds_first_and_assigns_later():
    found = simulate_assignor("rack-optimal", GROUP, replicas_in(t="b b a a"))
    assert (found.report.local, found.report.moves, found.rounds) == (4, 4, 2)
    assert not found.assignment.withheld


@given(consumer_groups(owned=True))
def test_rack_optimal_settles_in_two(group):
    assert simulate_assignor("rack-optimal", *group).rounds <= 2


def test_bytes_of_the_optimum():
    weights = dict(zip(tps("t-0 t-1 t-2"), (1, 9, 9), strict=True))
    found = simulate_assignor("rack-optimal", GROUP, replicas_in(t="a a a"), weights=weights)
    assert found.report.cross_by_level[0].bytes_per_s == 1
