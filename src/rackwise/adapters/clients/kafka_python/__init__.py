"""Plug-ins for kafka-python."""
