"""CreateReplicaAssignment (KIP-879) as a service, without its sockets: frames in, frames out.

```
calls     a frame of a client as what it asks for, and answers as frames
answers   what is answered, with which of Kafka's error codes
```
"""

from __future__ import annotations
