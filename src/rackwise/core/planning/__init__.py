"""Plans with proof: the fewest replicas, bytes or dollars that reach a goal."""
