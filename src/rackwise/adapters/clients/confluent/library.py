"""The names of confluent-kafka that its plug-ins use, or the line that installs it."""

from __future__ import annotations

from rackwise.core.errors import MissingClientError

try:
    from confluent_kafka import (
        KafkaError,
        KafkaException,
        Producer,
        SerializingProducer,
        consistent,
        fnv1a,
        murmur2,
    )
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.aio import AIOProducer
except ImportError as error:
    raise MissingClientError(
        "confluent-kafka is not installed",
        wanted="confluent-kafka",
        had=None,
        hint="pip install 'rackwise[confluent]'",
    ) from error

__all__ = [
    "AIOProducer",
    "AdminClient",
    "KafkaError",
    "KafkaException",
    "Producer",
    "SerializingProducer",
    "consistent",
    "fnv1a",
    "murmur2",
]
