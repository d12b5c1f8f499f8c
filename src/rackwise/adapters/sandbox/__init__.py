"""Real Kafka and ZooKeeper on this machine: locked jars, guarded servers, ready checks."""

from __future__ import annotations

from rackwise.adapters.sandbox.cluster import Sandbox
from rackwise.adapters.sandbox.jars import KAFKA_3, KAFKA_4, locked_jars, resolve

__all__ = ["KAFKA_3", "KAFKA_4", "Sandbox", "locked_jars", "resolve"]
