"""Real Kafka and ZooKeeper on this machine: locked jars, guarded servers, ready checks."""

from __future__ import annotations

from rackwise.adapters.sandbox.cluster import Sandbox
from rackwise.adapters.sandbox.jars import resolve
from rackwise.adapters.sandbox.lock import (
    DEFAULT_KAFKA,
    KAFKA_3_9,
    KAFKA_4_3,
    KAFKA_4_4,
    KRAFT_JARS,
    locked_jars,
)

__all__ = [
    "DEFAULT_KAFKA",
    "KAFKA_3_9",
    "KAFKA_4_3",
    "KAFKA_4_4",
    "KRAFT_JARS",
    "Sandbox",
    "locked_jars",
    "resolve",
]
