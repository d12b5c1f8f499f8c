"""The search for the cheapest replica sets, by network flow."""
