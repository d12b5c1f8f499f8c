"""An audit in the formats that CI services read."""
