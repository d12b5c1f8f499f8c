"""Plug-ins for confluent-kafka."""
