"""The network of all legal sets."""
