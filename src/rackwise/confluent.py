"""Rack awareness for confluent-kafka: producers that write near.

```python
from rackwise.confluent import RackAwareProducer
```

The names are those of `rackwise.adapters.clients.confluent`. A name is imported when it is first
used, so this module needs no client. Without confluent-kafka, a name raises an error with the line
that installs it.
"""

from __future__ import annotations

from rackwise.adapters.clients.confluent import __dir__, __getattr__  # noqa: F401
