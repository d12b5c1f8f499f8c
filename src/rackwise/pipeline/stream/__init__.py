"""Client telemetry from a topic into tables and daily facts."""

from rackwise.pipeline.stream.run import StreamOptions, finish, start, usable_conf

__all__ = ["StreamOptions", "finish", "start", "usable_conf"]
