"""UpdateMetadata, api key 6, versions 0 to 2: the state that the controller sends to every broker.

```
request   controller_id int32, controller_epoch int32,
          array of (topic, partition int32, controller_epoch int32, leader int32,
                    leader_epoch int32, isr array of int32, zk_version int32,
                    replicas array of int32),
          array of broker blocks of the message's version
response  error_code int16
```

Controller 1 of epoch 3 sends that broker 1 leads t-0, then brokers 1 and 2:

```
00000001 00000003  00000001 000174 00000000 00000003 00000001 00000005
00000002 00000001 00000002  00000007  00000002 00000001 00000002
00000002 (block) (block)
```

Versions 0 and 1 have no racks. Brokers of a cluster whose inter.broker.protocol.version is below
0.10.0 therefore do not know the racks of each other.

KIP-36 lists "VersionID, CorrelationID, ClientID", then the fields above, with "rack" as a string.
The first three are the request header, which starts with the api key; the rack is nullable. Later
versions are not supported here.

Source: KIP-36; `UpdateMetadataRequest` and `Protocol` of Kafka 0.10.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.wire.kip36.broker_block import LEAST_BLOCK, put_broker, take_broker
from rackwise.core.wire.reader import Reader
from rackwise.core.wire.writer import Writer, require_version

if TYPE_CHECKING:
    from rackwise.core.wire.registration import BrokerRegistration

API_KEY = 6
NEWEST = 2
_LEAST_STATE = 30
_HINT = "versions above 2 come with inter.broker.protocol.version 0.10.2-IV0; lower it"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataPartitionState:
    """The leader and the replicas of a partition; all numbers are int32."""

    topic: str
    partition: int
    controller_epoch: int
    leader: int
    """-1 = none."""
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadata:
    """The message."""

    controller_id: int
    """int32."""
    controller_epoch: int
    """int32."""
    partition_states: tuple[UpdateMetadataPartitionState, ...]
    live_brokers: tuple[BrokerRegistration, ...]


def write_update_metadata(m: UpdateMetadata, *, version: int) -> bytes:
    """Write the body of version 0 to 2. Raises `LocalProtocolError`, as `write_broker` does."""
    require_version("UpdateMetadata", version, newest=NEWEST, hint=_HINT)
    writer = Writer()
    writer.int32(m.controller_id)
    writer.int32(m.controller_epoch)
    writer.int32(len(m.partition_states))
    for state in m.partition_states:
        _put_state(writer, state)
    writer.int32(len(m.live_brokers))
    for broker in m.live_brokers:
        put_broker(writer, broker, version=version)
    return bytes(writer.data)


def read_update_metadata(data: bytes, *, version: int) -> UpdateMetadata:
    """What a body of version 0 to 2 says; brokers as `read_broker` gives them.

    Raises `RemoteProtocolError`; `LocalProtocolError` for another version.
    """
    require_version("UpdateMetadata", version, newest=NEWEST, hint=_HINT)
    reader = Reader(data)
    controller_id, controller_epoch = reader.int32(), reader.int32()
    states = tuple(_take_state(reader) for _ in range(reader.count(_LEAST_STATE)))
    brokers = tuple(take_broker(reader, version=version) for _ in range(reader.count(LEAST_BLOCK)))
    reader.close()
    return UpdateMetadata(
        controller_id=controller_id,
        controller_epoch=controller_epoch,
        partition_states=states,
        live_brokers=brokers,
    )


def write_update_metadata_response(error_code: int) -> bytes:
    """The body of an answer of version 0 to 2. Raises `LocalProtocolError`."""
    writer = Writer()
    writer.int16(error_code)
    return bytes(writer.data)


def read_update_metadata_response(data: bytes) -> int:
    """The error code of an answer of version 0 to 2, 0 = none. Raises `RemoteProtocolError`."""
    reader = Reader(data)
    error_code = reader.int16()
    reader.close()
    return error_code


def _put_state(writer: Writer, state: UpdateMetadataPartitionState) -> None:
    writer.text(state.topic, "topic")
    writer.int32(state.partition)
    writer.int32(state.controller_epoch)
    writer.int32(state.leader)
    writer.int32(state.leader_epoch)
    writer.int32_array(state.isr)
    writer.int32(state.zk_version)
    writer.int32_array(state.replicas)


def _take_state(reader: Reader) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        topic=reader.text(),
        partition=reader.int32(),
        controller_epoch=reader.int32(),
        leader=reader.int32(),
        leader_epoch=reader.int32(),
        isr=reader.int32_array(),
        zk_version=reader.int32(),
        replicas=reader.int32_array(),
    )
