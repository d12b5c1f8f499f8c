"""`rackwise consumer`."""
