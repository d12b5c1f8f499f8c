"""The generated world: clusters, clients, addresses."""
