"""The broker block: one broker in UpdateMetadata, and before that message existed, on its own.

```
0   id int32, host, port int32                                    one PLAINTEXT endpoint
1   id int32, array of (port int32, host, protocol int16)         port before host
2   version 1, then rack, nullable                                null is no rack, "" is one
```

Broker 1 on PLAINTEXT host1:9092 and SSL host1:9093, in rack dc1:

```
0   00000001 0005686f737431 00002384
1   00000001 00000002 00002384 0005686f737431 0000 00002385 0005686f737431 0001
2   .. 0003646331
```

The block has no names of listeners: a listener that is read has the name of its protocol. It has no
jmx_port, timestamp and features either. Two endpoints of one protocol are kept; Kafka's map keeps
the last. Kafka fails on version 0 of a broker without PLAINTEXT; here it raises an error.

Source: KIP-36, `Broker.writeTo` and `Broker.readFrom`; from 0.10.0 on the structs of
`UpdateMetadataRequest`, which are the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.endpoints import Endpoint, SecurityProtocol
from rackwise.core.wire.reader import Reader
from rackwise.core.wire.registration import NO_PORT, BrokerRegistration
from rackwise.core.wire.writer import Writer, require_version

if TYPE_CHECKING:
    from collections.abc import Sequence

NEWEST = 2
LEAST_BLOCK = 8
"""Bytes of the shortest block of any version."""
_WITH_ENDPOINTS = 1
_WITH_RACK = 2
_LEAST_ENDPOINT = 8
_PROTOCOLS = frozenset(SecurityProtocol)


def write_broker(r: BrokerRegistration, *, version: int) -> bytes:
    """Write the block of version 0 to 2, without what that version cannot hold.

    Raises `LocalProtocolError` for version 0 of a broker without a PLAINTEXT endpoint, an endpoint
    without host, and what a field cannot hold.
    """
    writer = Writer()
    put_broker(writer, r, version=version)
    return bytes(writer.data)


def read_broker(data: bytes, *, version: int, offset: int = 0) -> tuple[BrokerRegistration, int]:
    """Read the broker of the block of version 0 to 2 at `offset`, and the offset after it.

    Its `version` is that of the registration with the same fields: one more than the block's.
    `host` and `port` are those of the first PLAINTEXT endpoint. Raises `RemoteProtocolError`.
    """
    reader = Reader(data, offset)
    return take_broker(reader, version=version), reader.offset


def put_broker(writer: Writer, r: BrokerRegistration, *, version: int) -> None:
    """Append the block to what the writer holds already; see `write_broker`."""
    require_version("Broker", version, newest=NEWEST)
    writer.int32(r.broker_id)
    if version < _WITH_ENDPOINTS:
        endpoint = _plaintext(r.endpoints)
        if endpoint is None:
            raise _without_plaintext(r)
        writer.text(_host(r, endpoint), "host")
        writer.int32(endpoint.port)
        return
    writer.int32(len(r.endpoints))
    for endpoint in r.endpoints:
        writer.int32(endpoint.port)
        writer.text(_host(r, endpoint), "host")
        writer.int16(endpoint.protocol)
    if version >= _WITH_RACK:
        writer.text(r.rack, "rack")


def take_broker(reader: Reader, *, version: int) -> BrokerRegistration:
    """Read a block at the position of the reader; see `read_broker`."""
    require_version("Broker", version, newest=NEWEST)
    broker_id = reader.int32()
    endpoints: tuple[Endpoint, ...]
    if version < _WITH_ENDPOINTS:
        host, port = reader.text(), reader.int32()
        endpoints = (_endpoint(SecurityProtocol.PLAINTEXT, host, port),)
    else:
        endpoints = tuple(_take_endpoint(reader) for _ in range(reader.count(_LEAST_ENDPOINT)))
    plaintext = _plaintext(endpoints)
    return BrokerRegistration(
        broker_id=broker_id,
        version=version + 1,
        endpoints=endpoints,
        rack=reader.nullable_text() if version >= _WITH_RACK else None,
        host=plaintext.host if plaintext else None,
        port=plaintext.port if plaintext else NO_PORT,
    )


def _take_endpoint(reader: Reader) -> Endpoint:
    port, host = reader.int32(), reader.text()
    start = reader.offset
    protocol = reader.int16()
    if protocol not in _PROTOCOLS:
        raise RemoteProtocolError(
            f"offset {start}: invalid protocol: expected 0..3, got {protocol}",
            offset=start,
            wanted="0..3",
            had=protocol,
        )
    return _endpoint(SecurityProtocol(protocol), host, port)


def _endpoint(protocol: SecurityProtocol, host: str, port: int) -> Endpoint:
    return Endpoint(listener=protocol.name, protocol=protocol, host=host, port=port)


def _plaintext(endpoints: Sequence[Endpoint]) -> Endpoint | None:
    return next((e for e in endpoints if e.protocol is SecurityProtocol.PLAINTEXT), None)


def _host(r: BrokerRegistration, endpoint: Endpoint) -> str:
    if endpoint.host is None:
        raise LocalProtocolError(
            f"broker {r.broker_id}: expected an endpoint with a host, got {endpoint}",
            wanted="a host",
            had=str(endpoint),
        )
    return endpoint.host


def _without_plaintext(r: BrokerRegistration) -> LocalProtocolError:
    names = ", ".join(dict.fromkeys(e.protocol.name for e in r.endpoints))
    had = f"{names} only" if names else "none"
    return LocalProtocolError(
        f"version 0 holds one PLAINTEXT endpoint; broker {r.broker_id} has {had}",
        wanted=SecurityProtocol.PLAINTEXT.name,
        had=had,
        hint="write version 1 or 2",
    )
