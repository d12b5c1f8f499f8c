"""The decision table: which id a starting broker gets."""
