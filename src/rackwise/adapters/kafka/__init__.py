"""Kafka: reading a cluster, through kafka-python's admin client."""

from __future__ import annotations

from rackwise.adapters.kafka.client_config import Secret, read_client_config
from rackwise.adapters.kafka.connect import connect
from rackwise.adapters.kafka.read import read_cluster, resolved_addresses

__all__ = ["Secret", "connect", "read_client_config", "read_cluster", "resolved_addresses"]
