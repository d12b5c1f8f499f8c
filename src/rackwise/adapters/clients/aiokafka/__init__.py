"""Plug-ins for aiokafka."""
