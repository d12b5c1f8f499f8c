"""Snapshot files, `rackwise.snapshot/1`."""
