"""What every suite shares: Hypothesis profiles, server markers, real servers."""

from __future__ import annotations

import os

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
settings.register_profile("exhaustive", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "deterministic"))

SERVERS = ("java", "kafka", "zookeeper", "spark")


def pytest_collection_modifyitems(items):
    for item in items:
        if any(item.get_closest_marker(name) for name in SERVERS):
            item.add_marker("server")
