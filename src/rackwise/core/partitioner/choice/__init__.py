"""Choice of a partition for each record without a key (KIP-794, KIP-1123)."""
