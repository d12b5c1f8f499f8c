"""CreateReplicaAssignment (KIP-879) as a service, without its sockets: frames in, frames out.

```
calls     reads frames of clients, and writes answers as frames
answers   computes the answer to a request: replica lists, or one of Kafka's error codes
```
"""

from __future__ import annotations
