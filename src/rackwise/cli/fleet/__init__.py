"""Commands that run for every cluster of a fleet file; `nightly` runs them all."""
