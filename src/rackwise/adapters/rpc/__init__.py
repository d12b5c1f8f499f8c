"""CreateReplicaAssignment (KIP-879) over sockets: a server, and a client on kafka-python.

```
config       where to listen, guards, TLS, logins
server       accepts, guards, stops
connection   one client: frames in, answers out, each within its time
logins       SASL of clients
placing      the framed answer to a request, made in a worker
workers      threads that place, so that the loop stays free
client       KafkaAdminClient with create_replica_assignment
private      all that is touched inside kafka-python
```

The server needs only the standard library and core. `client` imports kafka-python, so import it
where you use it: `from rackwise.adapters.rpc.client import ReplicaAssignmentClient`.
"""

from __future__ import annotations
