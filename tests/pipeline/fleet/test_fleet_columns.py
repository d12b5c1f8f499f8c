"""Codes of the brokers of a fleet: consecutive for a cluster, and found without a walk."""

from __future__ import annotations

import numpy as np
import pytest

from growth import check_not_quadratic
from rackwise.pipeline.fleet.fleet_columns import Codes, Names

BROKERS = 60


def codes_of(brokers):
    """The codes of brokers (cluster name, broker id); the fleet has nothing else."""
    clusters = tuple(sorted({name for name, _ in brokers}))
    return Codes.of(
        Names(
            clusters=clusters,
            racks=(),
            topics=(),
            clients=(),
            brokers=tuple(sorted(brokers)),
            cluster_topics=(),
            depth=0,
        )
    )


@pytest.mark.parametrize(("cluster", "first"), [("a", 1), ("b", 4), ("none", None)])
def test_the_codes_of_a_cluster_are_consecutive(cluster, first):
    codes = codes_of([("b", 3), ("a", 7), ("a", 1), ("b", 1), ("a", 2)])
    ids = codes.broker_ids.get(cluster, np.zeros(0, dtype=np.int32))
    found = codes.broker_codes(cluster)(ids).tolist()
    assert found == [codes.brokers[cluster, id_] for id_ in ids.tolist()]
    assert codes.first_broker(cluster) == first == (found[0] if found else None)


def test_the_time_grows_with_the_clusters_and_not_with_their_square():
    def work_of(clusters):
        names = [f"c{number:05}" for number in range(clusters)]
        codes = codes_of([(name, id_) for name in names for id_ in range(BROKERS)])
        wanted = np.arange(BROKERS, dtype=np.int32)
        return lambda: [codes.broker_codes(name)(wanted) for name in names]

    check_not_quadratic(work_of, 100)
