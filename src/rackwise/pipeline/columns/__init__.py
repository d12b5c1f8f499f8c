"""Helpers for columns, in Spark and in numpy."""
