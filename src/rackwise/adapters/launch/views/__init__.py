"""What a start reads of the store and of the cluster."""
