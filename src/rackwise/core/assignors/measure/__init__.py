"""Measures of an assignment: local reads, bounds, loads of brokers, comparisons of assignors."""
