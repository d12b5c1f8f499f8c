"""Limits of Kafka's integer types. This file is apart from the model, which loads numpy."""

from __future__ import annotations

GREATEST_ID = 2**31 - 1
"""The greatest broker id and partition number: Kafka's int32."""
GREATEST_REPLICATION = 2**15 - 1
"""The greatest replication factor: Kafka's int16."""
