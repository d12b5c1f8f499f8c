"""Plug-ins for aiokafka: assignors for AIOKafkaConsumer, KIP-1123 for AIOKafkaProducer.

Users import from `rackwise.aiokafka`. `__init__.pyi` lists the names. A name is imported when it is
first used, so importing this package does not need aiokafka. Without aiokafka, a name raises an
error with the line that installs it.
"""

from __future__ import annotations

from rackwise import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
