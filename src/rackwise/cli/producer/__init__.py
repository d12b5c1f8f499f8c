"""`rackwise producer`."""
