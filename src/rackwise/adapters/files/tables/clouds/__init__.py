"""What the command lines of clouds list, as JSON, in the shapes of the vendors' references."""
