"""Fixtures of every suite: Hypothesis profiles, server markers, real servers."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ("kafka_servers", "spark_sessions")

settings.register_profile(
    "deterministic",
    derandomize=True,
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "exhaustive",
    max_examples=5000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "deterministic")
settings.load_profile(PROFILE)

# A shell starts background jobs with SIGINT ignored, `nohup` a command with SIGHUP ignored, and
# children inherit it. The tests send both to the commands that they start, so those must have the
# default action: exec resets a caught signal to the default, and leaves an ignored one ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Some systems let the group write new files (002). Such a file may not decide who is trusted.
os.umask(0o022)


@pytest.fixture(scope="session", autouse=True)
def state_of_all_tests(tmp_path_factory):
    """Locks and journals of the tests that set no folder for them; never those of the user."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("RACKWISE_STATE", str(tmp_path_factory.mktemp("state") / "home"))
        yield


SERVERS = ("java", "kafka", "zookeeper", "spark", "prometheus", "kerberos")


def pytest_collection_modifyitems(items):
    for item in items:
        if PROFILE == "exhaustive" and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600))
        if any(item.get_closest_marker(name) for name in SERVERS):
            item.add_marker("server")
