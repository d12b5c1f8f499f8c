"""Kafka topics as Spark sources and sinks that stay in the executor's rack."""
