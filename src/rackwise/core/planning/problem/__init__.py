"""The problem of a plan: rules, goals and prices of one cluster as columns."""
