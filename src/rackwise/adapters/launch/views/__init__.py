"""Readers of the store and of the cluster."""
