"""Snapshots, addresses and racks of all clusters of a fleet, as tables."""
