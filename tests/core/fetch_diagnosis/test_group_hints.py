"""The hints about members without a rack, and about topics without a replica near their readers."""

import pytest

from rackwise.core.fetch_diagnosis import GroupBest
from readings import diagnosed, group, healthy

ALONE = {"t-0": [1], "t-1": [2], "t-2": [3]}
"""Led from a, b, c, without another replica."""
ASSIGNOR_OR_REPLICAS = (
    "use a rack-aware assignor or add replicas: fetching from followers alone cannot make these "
    "reads local"
)
NO_OTHER = "no other assignment reads more in the readers' racks"
EVALUATE = "rackwise consumer evaluate"
LIMITED = GroupBest(partitions=3, local=2, best_local=2, is_better=False)
BETTER = GroupBest(partitions=3, local=1, best_local=2, is_better=True)


@pytest.mark.parametrize(
    ("readers", "best", "hint"),
    [
        (group("ab"), LIMITED, f"add replicas, or a member in c: {NO_OTHER}"),
        (group("a"), LIMITED, f"add replicas, or a member in each of b, c: {NO_OTHER}"),
        (
            group("abc"),
            LIMITED,
            f"add replicas, or members in the racks that {EVALUATE} names: {NO_OTHER}",
        ),
        (
            group("ab", protocol="consumer", assignor="rack-optimal"),
            LIMITED,
            f"add replicas, or a member in c: {NO_OTHER}",
        ),
        (group("ab"), BETTER, ASSIGNOR_OR_REPLICAS),
        (group("ab"), None, ASSIGNOR_OR_REPLICAS),
        (group("ab", assignor="roundrobin"), LIMITED, ASSIGNOR_OR_REPLICAS),
        (group("ab", protocol="consumer", assignor="range"), LIMITED, ASSIGNOR_OR_REPLICAS),
        (group("ab", protocol="streams", assignor=None), LIMITED, ASSIGNOR_OR_REPLICAS),
    ],
)
def test_coverage_says_what_is_still_possible(readers, best, hint):
    known = {} if best is None else {"billing": best}
    found = diagnosed(healthy(lists=ALONE, groups=[readers]), best=known)
    (coverage,) = (each for each in found if each.rule == "reading-coverage")
    assert coverage.hint == hint


def test_a_member_without_rack_is_told_of_the_assignors_that_send_it():
    found = diagnosed(healthy(groups=[group("a-c")]))
    assert found[0].hint == (
        "set client.rack; the own assignors of kafka-python and aiokafka do not send it: use an "
        "assignor of rackwise.kafka_python or rackwise.aiokafka"
    )
