"""What a run of `analyze` would do, found without reading a row."""
