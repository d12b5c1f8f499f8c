"""The Kafka adapter on kafka-python's admin client: reads clusters, creates topics, runs plans."""

from __future__ import annotations

from kafka.admin import KafkaAdminClient

from rackwise.adapters.kafka.client_config import read_client_config
from rackwise.adapters.kafka.connect import connect, connect_as
from rackwise.adapters.kafka.create import (
    MissingTopic,
    add_to_topic,
    create_topic,
    ensure_topic,
    missing_topic,
    topic_exists,
    topic_rows,
    unknown_topic,
)
from rackwise.adapters.kafka.leader_load import leader_rack_load
from rackwise.adapters.kafka.probe import ask_leaders, read_fetch_versions
from rackwise.adapters.kafka.read import read_brokers, read_cluster, resolved_addresses

__all__ = [
    "KafkaAdminClient",
    "MissingTopic",
    "add_to_topic",
    "ask_leaders",
    "connect",
    "connect_as",
    "create_topic",
    "ensure_topic",
    "leader_rack_load",
    "missing_topic",
    "read_brokers",
    "read_client_config",
    "read_cluster",
    "read_fetch_versions",
    "resolved_addresses",
    "topic_exists",
    "topic_rows",
    "unknown_topic",
]
