"""The split of a topic's bytes over racks: local, and no rack overloaded."""
