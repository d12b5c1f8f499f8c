"""Generates the traffic of a fleet, in each format of flow files."""
