"""The Spark session that all Spark suites of a run share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark():
    """One local session for the whole run: two cores, the small profile, two shuffle partitions."""
    from rackwise.pipeline.session import session

    with session("rackwise-tests", master="local[2]", profile="small") as made:
        yield made
