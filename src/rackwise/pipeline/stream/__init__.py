"""Client telemetry from a topic into tables and daily facts."""

from rackwise.pipeline.stream.run import StreamOptions, finish, fitting, start

__all__ = ["StreamOptions", "finish", "fitting", "start"]
