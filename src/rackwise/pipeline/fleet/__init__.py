"""The clusters of a fleet: snapshots, addresses and racks as frames."""
