"""Which id a broker has: KIP-426, from outside, for brokers that were not changed."""
