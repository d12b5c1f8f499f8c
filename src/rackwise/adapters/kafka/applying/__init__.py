"""Execution of a plan on a running cluster: requests, readings, and the loop over the steps."""
