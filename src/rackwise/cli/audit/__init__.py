"""`rackwise audit`, `snapshot`, `doctor` and `upgrade`."""
