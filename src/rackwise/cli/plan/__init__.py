"""`rackwise plan`, `proof`, `diff` and `what-if`."""
