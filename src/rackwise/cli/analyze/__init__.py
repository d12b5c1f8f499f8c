"""`rackwise analyze`, `report`, `stream`, `generate` and `spark-check`."""
