"""The names of confluent-kafka that its plug-ins use, or the line that installs it."""

from __future__ import annotations

from typing import Final

from rackwise.core.errors import MissingClientError, UnsupportedClient

CLIENT: Final = "confluent-kafka"
SUPPORTED: Final = ">=2.16,<3"
"""The versions that have all of these names."""

try:
    import confluent_kafka
except ModuleNotFoundError as error:
    raise MissingClientError.of(CLIENT, extra="confluent") from error


def unsupported(versions: str = SUPPORTED) -> UnsupportedClient:
    """The error that says which versions have a name that the installed one lacks."""
    found = getattr(confluent_kafka, "__version__", "another version")
    return UnsupportedClient(
        f"unsupported {CLIENT}: expected {CLIENT} {versions}, got {found}",
        wanted=f"{CLIENT} {versions}",
        had=found,
        hint=f"pip install '{CLIENT}{versions}'",
    )


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
    raise unsupported() from error

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
    "unsupported",
]
