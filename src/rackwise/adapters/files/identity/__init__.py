"""The store of broker ids in a directory."""
