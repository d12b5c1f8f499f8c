"""Measures of an assignment: local reads, bounds, loads, comparisons; it assigns nothing."""
