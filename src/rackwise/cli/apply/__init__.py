"""`rackwise apply`, `resume`, `cancel`, `rollback`, `status` and `throttles`."""
