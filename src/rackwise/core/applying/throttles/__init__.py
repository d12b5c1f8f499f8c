"""Replication throttles of a run: set before moves, cleared after."""
