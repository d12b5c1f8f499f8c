"""Kafka's own assignors, with the same results as the Java client."""
