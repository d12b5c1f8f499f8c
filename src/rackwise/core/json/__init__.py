"""JSON: a strict reader and a canonical writer."""
