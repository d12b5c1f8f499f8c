"""The Spark session that all Spark suites of a run share."""

from __future__ import annotations

import pytest

MASTER = "local[2]"
ROOM = "-Xms1g -Xmn400m -XX:MetaspaceSize=384m"
"""Grown at once: of what a run keeps, thousands of classes, each growth costs a full collection."""
PAGE = {"spark.buffer.pageSize": "1m"}
"""Each sort, map and broadcast of a task takes whole pages, of 32 MiB by itself with this heap."""
UNSEEN = {"spark.sql.ui.explainMode": "simple"}
"""The plan of each job is written out for a UI that is not there; so it is written short."""


@pytest.fixture(scope="session")
def spark():
    """One local session for the whole run: two cores, the small profile, two shuffle partitions."""
    from rackwise.pipeline.session import session, settings

    java = "spark.driver.extraJavaOptions"
    conf = {
        java: f"{settings(MASTER, 'small', {})[java]} {ROOM}",
        "spark.driver.memory": "2g",
        **PAGE,
        **UNSEEN,
    }
    with session("rackwise-tests", master=MASTER, profile="small", conf=conf) as made:
        yield made
