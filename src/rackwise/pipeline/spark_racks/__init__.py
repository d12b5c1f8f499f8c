"""The rack of each Spark executor: how to set it and how to check it."""
