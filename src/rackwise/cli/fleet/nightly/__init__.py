"""`rackwise nightly`: one run over a fleet, as cron starts it."""
