"""Plug-ins for aiokafka: assignors for AIOKafkaConsumer, KIP-1123 for AIOKafkaProducer.

```python
from rackwise.adapters.clients.aiokafka import RackAwareAIOProducer
from rackwise.adapters.clients.aiokafka import RackOptimal, attach
```

`__init__.pyi` lists the names. A name is imported when it is first used, so importing this package
does not need aiokafka. Without aiokafka, a name raises an error with the line that installs it.
"""

from __future__ import annotations

from rackwise import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
