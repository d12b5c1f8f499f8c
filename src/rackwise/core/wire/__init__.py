"""Kafka's binary and ZooKeeper formats: pure functions from bytes to values, and back.

```
headers              the header before every message
api_versions         which messages a server understands
consumer             what group members and their leader exchange through the coordinator
metadata             what clients learn of brokers and topics
batches              what record batches take: bytes and offsets
replica_assignment   the request to a server that places replicas
kip36                UpdateMetadata, broker blocks, written registrations: the KIP's formats
registration         data of /brokers/ids/N, versions 1 to 5 and later
topic_node           data of /brokers/topics/T
ibp                  which version a broker writes
upgrade              the next step of KIP-36's rolling upgrade, derived from registrations
reader, writer       fields of Kafka's protocol, from bytes and to bytes
```

This module has the names that need no numpy, because the start of a broker reads registrations. For
`consumer` and `upgrade`, import from those modules.
"""

from __future__ import annotations

from rackwise.core.wire.endpoints import Endpoint, SecurityProtocol
from rackwise.core.wire.ibp import registration_version, update_metadata_version
from rackwise.core.wire.kip36.write_registration import dropped_fields, write_registration
from rackwise.core.wire.registration import BrokerRegistration, read_registration
from rackwise.core.wire.topic_node import (
    ReplicaSet,
    TopicNode,
    dropped_topic_fields,
    read_topic_node,
    write_topic_node,
)

__all__ = [
    "BrokerRegistration",
    "Endpoint",
    "ReplicaSet",
    "SecurityProtocol",
    "TopicNode",
    "dropped_fields",
    "dropped_topic_fields",
    "read_registration",
    "read_topic_node",
    "registration_version",
    "update_metadata_version",
    "write_registration",
    "write_topic_node",
]
