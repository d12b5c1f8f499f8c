"""Plan files, `rackwise.plan/1`, and Kafka's reassignment JSON."""
