"""The provider's own bill, compared with the traffic that Rackwise found."""
