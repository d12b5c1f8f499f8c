"""Generates several snapshots of a cluster, and the traffic between them that they meter."""
