"""Kafka's assignors on the broker (KIP-848), with the same results as the group coordinator."""
