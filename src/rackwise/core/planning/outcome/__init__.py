"""What a plan comes to: its moves in order, its totals, its price."""
