"""Rack awareness for kafka-python: consumers that read near, producers that write near.

```python
from rackwise.kafka_python import RackAwareProducer, RackOptimal, RackRange, rack_consumer
```

The names are those of `rackwise.adapters.clients.kafka_python`. A name is imported when it is first
used, so this module needs no client. Without kafka-python, a name raises an error with the line
that installs it.
"""

from __future__ import annotations

from rackwise.adapters.clients.kafka_python import __dir__, __getattr__  # noqa: F401
