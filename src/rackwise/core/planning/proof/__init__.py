"""The proof of a plan, checked without a solver and without the code of the search."""
