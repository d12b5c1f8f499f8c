"""The optimal assignor: even loads, then least crossing, then fewest moves, solved as a flow."""
