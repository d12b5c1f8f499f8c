"""A real cluster of either kind, and a topic on it that is gone after each test."""

from __future__ import annotations

from contextlib import closing

import pytest


@pytest.fixture(
    params=[
        pytest.param("kraft_cluster", marks=pytest.mark.kafka),
        pytest.param("zookeeper_cluster", marks=pytest.mark.zookeeper),
    ]
)
def cluster(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def admin(cluster):
    from kafka_topics import NAME
    from kafka_traffic import delete
    from rackwise.adapters.kafka import connect

    with closing(connect(cluster.bootstrap)) as made:
        yield made
        delete(made, NAME)
