"""The traffic of a cluster by partitions and racks, as columns in chunks."""
