"""The split of a topic's bytes over racks: local, with no rack overloaded."""
