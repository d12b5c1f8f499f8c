"""CSV tables: prices, subnets, rates, weights."""
