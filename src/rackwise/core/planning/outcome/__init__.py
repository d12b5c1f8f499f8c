"""The outcome of a plan: its moves in order, its totals, its price."""
