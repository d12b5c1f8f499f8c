"""Spark sessions, the Java that runs them, and the stores of their files."""
