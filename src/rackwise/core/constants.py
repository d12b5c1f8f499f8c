"""Limits of Kafka and default values that the command line needs before numpy is loaded."""

from __future__ import annotations

GREATEST_ID = 2**31 - 1
"""The greatest broker id and partition number: Kafka's int32."""
GREATEST_REPLICATION = 2**15 - 1
"""The greatest replication factor: Kafka's int16."""
DEFAULT_PROVIDER = "aws"
"""The provider whose rows of the price table are used if none is named."""
MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
"""The repository of jars if none is named."""
