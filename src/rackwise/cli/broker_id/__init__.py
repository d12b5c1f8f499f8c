"""`rackwise broker-id`."""
