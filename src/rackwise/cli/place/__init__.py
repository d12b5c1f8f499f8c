"""`rackwise place`, `placers`, `topic` and `serve`."""
