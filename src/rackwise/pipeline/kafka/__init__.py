"""Kafka topics as Spark sources and sinks that read and write in the executor's rack."""
