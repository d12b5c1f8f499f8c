"""Spark sessions, and the Java that runs them."""
