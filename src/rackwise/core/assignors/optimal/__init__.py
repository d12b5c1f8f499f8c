"""The optimal assignment: even first, then local, then with the fewest moves."""
