"""Carrying a plan out on a running cluster: requests, reads, and the loop that drives the steps."""
