"""The laws of placements catch what they name."""

import numpy as np
import pytest

from laws_placement import (
    check_equal_leaders,
    check_equal_replicas,
    check_placement,
    check_prefix,
)
from placements import racked
from rackwise import Placement

BROKERS = racked("a", "b", None, "a")


def placed(*rows, first=0):
    return Placement(rows=np.array(rows), first=first)


@pytest.mark.parametrize(
    ("placement", "law"),
    [
        (placed((0, 0)), "distinct brokers: partition 0 is"),
        (placed((0, 1), (0, 7)), "known brokers: partition 1 is"),
        (placed((0, 3)), "racks: expected 2 racks, got partition 0 is"),
        (placed((0, 1, 2)), "replication: 2 was asked"),
        (placed((0, 1), (0, 1), (1, 2)), "rows: 2 were asked, 3 made"),
        (placed((0, 1), (0, 1), first=4), "rows: from 0 was asked, from 4 made"),
    ],
)
def test_a_broken_law_is_named(placement, law):
    with pytest.raises(AssertionError, match=f"law of {law}"):
        check_placement(
            placement,
            BROKERS,
            replication=2,
            racks="aware",
            partitions=max(1, min(2, len(placement))),
            first=0,
        )


def test_racks_off_lets_racks_repeat():
    check_placement(placed((0, 3)), BROKERS, replication=2, racks="off")


def test_no_rack_is_one_more_rack():
    check_placement(placed((0, 1, 2)), BROKERS, replication=3, racks="aware")


def test_uneven_leaders_replicas_and_prefixes_are_seen():
    with pytest.raises(AssertionError, match=r"law of leaders: \[2, 1, 1, 0\]"):
        check_equal_leaders(placed((0, 3), (0, 3), (1, 2), (2, 1)), BROKERS)
    with pytest.raises(AssertionError, match=r"law of replicas: \[2, 2, 2, 0\]"):
        check_equal_replicas(placed((0, 1), (1, 2), (2, 0)), BROKERS)
    with pytest.raises(AssertionError, match="law of prefixes: partition 1"):
        check_prefix(placed((0, 1), (1, 2)), placed((0, 1), (2, 1), (0, 1)))
