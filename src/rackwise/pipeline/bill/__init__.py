"""From facts to dollars: traffic, prices, roll-ups, savings."""
