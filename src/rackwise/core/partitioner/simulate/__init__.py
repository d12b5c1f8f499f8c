"""A simulation: producers replayed in time, to see what a way of choosing partitions does."""
