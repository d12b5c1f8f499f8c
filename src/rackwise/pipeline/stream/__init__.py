"""Client telemetry from a topic into tables and daily facts.

`__init__.pyi` lists the names. A name is imported when it is first used, so importing this package
does not need PySpark.
"""

from __future__ import annotations

from rackwise import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
