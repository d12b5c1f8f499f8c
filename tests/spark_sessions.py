"""The Spark session that all Spark suites of a run share.

With `RACKWISE_SPARK=connect` in the environment it is a session of Spark Connect, on a server in
its own process: the same tests, for users without a driver. A process has either kind, not both.
"""

from __future__ import annotations

import os

import pytest

MASTER = "local[2]"
ROOM = "-Xms1g -Xmn400m -XX:MetaspaceSize=384m"
"""Grown at once: of what a run keeps, thousands of classes, each growth costs a full collection."""
PAGE = {"spark.buffer.pageSize": "1m"}
"""Each sort, map and broadcast of a task takes whole pages, of 32 MiB by itself with this heap."""
UNSEEN = {"spark.sql.ui.explainMode": "simple"}
"""The plan of each job is written out for a UI that is not there; so it is written short."""


ON_CONNECT = os.environ.get("RACKWISE_SPARK") == "connect"


def pytest_collection_modifyitems(config, items):
    """Leave out on Connect the tests that start their own Spark."""
    if not ON_CONNECT:
        return
    left_out = [item for item in items if item.get_closest_marker("classic")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def spark(request):
    """One session for the whole run: two cores, the tiny profile, two shuffle partitions."""
    from rackwise.pipeline.runtime.session import session, settings

    java = "spark.driver.extraJavaOptions"
    conf = {
        java: f"{settings(MASTER, 'tiny', {})[java]} {ROOM}",
        "spark.driver.memory": "2g",
        **PAGE,
        **UNSEEN,
    }
    if ON_CONNECT:
        yield request.getfixturevalue("connected")
        return
    with session("rackwise-tests", master=MASTER, profile="tiny", conf=conf) as made:
        yield made


@pytest.fixture
def no_session(monkeypatch):
    """No Spark session is active, even if an earlier test has made the shared one."""
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)


@pytest.fixture(scope="session")
def connect_server(java_home, tmp_path_factory):
    """A server of Spark Connect, with the small profile, so that both ways of Spark are tested."""
    from rackwise.pipeline.runtime.session import settings
    from spark_connect import ConnectServer

    conf = settings(MASTER, "small", {"spark.driver.memory": "2g", **PAGE, **UNSEEN})
    java = f"{conf.pop('spark.driver.extraJavaOptions')} {ROOM}"
    folder = tmp_path_factory.mktemp("connect")
    with ConnectServer(java_home=java_home, folder=folder, conf=conf, java=java) as server:
        yield server


@pytest.fixture(scope="session")
def connected(connect_server):
    """A session on the server."""
    from rackwise.pipeline.runtime.session import session

    with session("rackwise-tests", remote=connect_server.remote) as made:
        yield made
