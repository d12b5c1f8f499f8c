"""Generates the world of a fleet: clusters, clients, addresses."""
