"""Plan what moves: the fewest replicas, bytes or dollars that reach a goal, with the proof."""
