"""The provider's own bill on Spark: its lines, and the traffic that they are compared with."""
