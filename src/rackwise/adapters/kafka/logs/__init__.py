"""What brokers tell of their logs: sizes, first and next offsets, and the last batches."""
