"""Plug-ins for confluent-kafka: KIP-1123 for its producers.

```python
from rackwise.confluent import RackAwareAIOProducer, RackAwareProducer, RackAwareSerializingProducer
```

`__init__.pyi` lists the names. A name is imported when it is first used, so importing this package
does not need confluent-kafka. Without it, a name raises an error with the line that installs it.
Consumers need no plug-in: librdkafka implements KIP-881, so set its `client.rack`.
"""

from __future__ import annotations

from rackwise import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
