"""The nodes of an identity store, as bytes and as values."""
