"""Kafka's binary and ZooKeeper formats: pure functions from bytes to values, and back.

```
headers              the header before every message
api_versions         which messages a server understands
consumer             what group members and their leader exchange through the coordinator
metadata             what clients learn of brokers and topics
replica_assignment   the request to a server that places replicas
kip36                UpdateMetadata, broker blocks, written registrations: the KIP's formats
registration         data of /brokers/ids/N, versions 1 to 5 and later
topic_node           data of /brokers/topics/T
ibp                  which version a broker writes
upgrade              the next step of KIP-36's rolling upgrade, derived from registrations
reader, writer       fields of Kafka's protocol, from bytes and to bytes
```

The names of `consumer` and `upgrade` are loaded on first use: they need numpy, and the start of a
broker reads registrations without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from rackwise.core.wire.consumer import (
        Blob,
        MemberAssignment,
        Subscription,
        decode_assignment,
        decode_blob,
        decode_cooperative_user_data,
        decode_sticky_user_data,
        decode_subscription,
        encode_assignment,
        encode_blob,
        encode_cooperative_user_data,
        encode_sticky_user_data,
        encode_subscription,
    )
    from rackwise.core.wire.upgrade import UpgradeAdvice, UpgradeMember, upgrade_findings

__all__ = [
    "Blob",
    "BrokerRegistration",
    "Endpoint",
    "MemberAssignment",
    "ReplicaSet",
    "SecurityProtocol",
    "Subscription",
    "TopicNode",
    "UpgradeAdvice",
    "UpgradeMember",
    "decode_assignment",
    "decode_blob",
    "decode_cooperative_user_data",
    "decode_sticky_user_data",
    "decode_subscription",
    "dropped_fields",
    "dropped_topic_fields",
    "encode_assignment",
    "encode_blob",
    "encode_cooperative_user_data",
    "encode_sticky_user_data",
    "encode_subscription",
    "read_registration",
    "read_topic_node",
    "registration_version",
    "update_metadata_version",
    "upgrade_findings",
    "write_registration",
    "write_topic_node",
]


_OF_UPGRADE = {"UpgradeAdvice", "UpgradeMember", "upgrade_findings"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from rackwise.core.wire import consumer, upgrade

    found: object = getattr(upgrade if name in _OF_UPGRADE else consumer, name)
    return found
