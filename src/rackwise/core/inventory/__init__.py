"""Inventories: addresses and their racks, from what Kubernetes and clouds list."""
