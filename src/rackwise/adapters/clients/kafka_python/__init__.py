"""Plug-ins for kafka-python: assignors for KafkaConsumer, KIP-1123 for KafkaProducer.

Users import from `rackwise.kafka_python`. `__init__.pyi` lists the names. A name is imported when
it is first used, so importing this package does not need kafka-python. Without kafka-python, a name
raises an error with the line that installs it.
"""

from __future__ import annotations

from rackwise import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
