"""From input files to facts: every row accepted, or rejected with a reason."""
