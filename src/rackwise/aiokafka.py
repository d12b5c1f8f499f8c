"""Rack awareness for aiokafka: consumers that read near, producers that write near.

```python
from rackwise.aiokafka import RackAwareProducer, RackOptimal, RackRange, rack_consumer
```

The names are those of `rackwise.adapters.clients.aiokafka`. A name is imported when it is first
used, so this module needs no client. Without aiokafka, a name raises an error with the line that
installs it.
"""

from __future__ import annotations

from rackwise.adapters.clients.aiokafka import __dir__, __getattr__  # noqa: F401
