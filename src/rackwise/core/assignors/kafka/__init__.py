"""Kafka's own assignors, equal to the Java client's."""
