"""A simulation: producers are replayed in time to show the effect of a way to choose partitions."""
