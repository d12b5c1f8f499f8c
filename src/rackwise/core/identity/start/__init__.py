"""The start of one broker: from gathered facts to a running process."""
