"""The watcher that records which ids are missing."""
