"""The journal of a run: its lines, as values and as JSON."""
