"""The rack of each Spark executor: how to set it, how to check it."""
