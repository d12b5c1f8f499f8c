"""Broker registrations, the data of `/brokers/ids/N`: every version, read.

Goals, in order: a broker that Kafka 3.9 would read is read; no field of a registration is lost; an
error names the JSON path.

```
1  version host port jmx_port timestamp                                        since 0.8
2  + endpoints                           ["PLAINTEXT://host1:9092", ..]          0.9
3  + rack, omitted if there is none      "dc1"                                   0.10.0, KIP-36
4  + listener_security_protocol_map      {"CLIENT":"SSL"}                        0.10.2, KIP-103
5  + features                            {"f":{"min_version":1,"max_version":2}} 2.7, KIP-584
```

`host` and `port` are those of the first PLAINTEXT endpoint, for clients older than `endpoints`, and
null and -1 if there is none. They are kept as read, and not used from version 2 on. Later versions
are read by the fields known here; everything else is kept in `extra` and written again.

The sample in KIP-36 has `"host","localhost"` and lacks a comma: it is not JSON and is rejected.

Release 0.9.0.0 reads versions 1 and 2 only (KAFKA-3100); `max_known=2` reads as it does.

A registration is read without a form of the codec: a cluster has thousands, and a form takes half
as long again.

What this does not do: write one (see `kip36.write_registration`); decide which version a broker
writes (see `ibp`); access ZooKeeper.

Source: KIP-36, KIP-103, KIP-584, kafka.zk.BrokerIdZNode, kafka.cluster.Broker.createBroker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rackwise.core.text import escaped
from rackwise.core.wire.endpoints import (
    INT16,
    INT32,
    INT64,
    PROTOCOLS,
    Endpoint,
    SecurityProtocol,
    as_checked,
    check_width,
    fits,
    read_endpoint,
)
from rackwise.core.wire.zookeeper_json import ReceivedNode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.errors import RemoteProtocolError

REGISTRATION_BYTES = 64 * 2**10
NEWEST = 5
"""The newest version that is written."""

ENDPOINTS_SINCE = 2
RACK_SINCE = 3
LISTENER_MAP_SINCE = 4
FEATURES_SINCE = 5

NO_PORT = -1
NO_JMX = -1

LISTENER_MAP = "listener_security_protocol_map"
RANGE = ("min_version", "max_version")

_FIELDS = frozenset(
    {
        *("version", "host", "port", "jmx_port", "timestamp"),
        *("endpoints", "rack", LISTENER_MAP, "features"),
    }
)
_SHOWN = 60
_MILLISECOND_CHARACTERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """What a broker publishes about itself.

    Raises `LocalProtocolError` for an integer that its field cannot hold.
    """

    broker_id: int
    version: int = NEWEST
    """As read."""
    endpoints: tuple[Endpoint, ...]
    """In the broker's order."""
    rack: str | None = None
    """None = none; "" is a rack."""
    host: str | None = None
    """As read; None = none."""
    port: int = NO_PORT
    """As read; -1 = none."""
    jmx_port: int | None = None
    """None = absent, -1 = off."""
    timestamp_ms: int | None = None
    """None = absent, or no number."""
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Name -> lowest and highest version."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Members that are not known here. Under the names of `features` and
    `listener_security_protocol_map`: the unknown parts of those."""

    def __post_init__(self) -> None:
        check_width("broker_id", self.broker_id, INT32)
        check_width("version", self.version, INT32)
        check_width("port", self.port, INT32)
        if self.jmx_port is not None:
            check_width("jmx_port", self.jmx_port, INT32)
        if self.timestamp_ms is not None:
            check_width("timestamp_ms", self.timestamp_ms, INT64)
        for name, bounds in self.features.items():
            for bound in bounds:
                check_width(f"features {name}", bound, INT16)


def read_registration(
    broker_id: int, data: bytes, *, max_known: int | None = None
) -> BrokerRegistration:
    """Read a registration of any version from 1 on, as Kafka 3.9 reads it.

    `max_known`: reject later versions, as 0.9.0.0 does with 2. Raises `RemoteProtocolError`, whose
    `where` is the node and the JSON path; `LocalProtocolError` for an invalid broker id.
    """
    check_width("broker_id", broker_id, INT32)
    node = ReceivedNode(f"/brokers/ids/{broker_id}", data, most=REGISTRATION_BYTES)
    version = _version(node, max_known)
    host, port = _address(node, must_be=version == 1)
    extra = _unknown(node.members)
    endpoints, unused = ((_plaintext(host, port),), {}) if version == 1 else _endpoints(node)
    if unused:
        extra[LISTENER_MAP] = unused
    features, labels = _features(node)
    if labels:
        extra["features"] = labels
    timestamp = node.members.get("timestamp")
    timestamp_ms = _timestamp(timestamp)
    if timestamp_ms is None and timestamp is not None:
        extra["timestamp"] = timestamp
    return as_checked(
        BrokerRegistration,
        broker_id=broker_id,
        version=version,
        endpoints=endpoints,
        rack=_rack(node),
        host=host,
        port=port,
        jmx_port=_jmx_port(node),
        timestamp_ms=timestamp_ms,
        features=features,
        extra=extra,
    )


def _unknown(members: Mapping[str, object]) -> dict[str, object]:
    if _FIELDS.issuperset(members):
        return {}
    return {name: members[name] for name in sorted(members.keys() - _FIELDS)}


def _version(node: ReceivedNode, max_known: int | None) -> int:
    found = node.members.get("version")
    if not fits(found, INT32) or found < 1:
        raise node.wrong("version", wanted="a version from 1 on")
    if max_known is not None and found > max_known:
        known = " or ".join(map(str, range(1, max_known + 1)))
        raise node.error(
            "version",
            sentence=f"unsupported version: expected {known}, got {found}",
            wanted=f"version {known}",
        )
    return found


def _address(node: ReceivedNode, *, must_be: bool) -> tuple[str | None, int]:
    """Read `host` and `port`. Kafka uses them in version 1 only, where both are required."""
    host, port = node.members.get("host"), node.members.get("port")
    if not isinstance(host, str) or not host:
        if must_be:
            raise node.wrong("host", wanted="a host")
        host = None
    if not fits(port, INT32):
        if must_be:
            raise node.wrong("port", wanted="a port")
        port = NO_PORT
    return host, port


def _plaintext(host: str | None, port: int) -> Endpoint:
    protocol = SecurityProtocol.PLAINTEXT
    return Endpoint(listener=protocol.name, protocol=protocol, host=host, port=port)


def _endpoints(node: ReceivedNode) -> tuple[tuple[Endpoint, ...], dict[str, str]]:
    """Read all endpoints, and the listeners of the map without one. Kafka skips empty texts."""
    found = node.members.get("endpoints")
    if not isinstance(found, list):
        raise node.wrong("endpoints", wanted="a list of NAME://host:port")
    protocols = _protocols(node)
    endpoints: list[Endpoint] = []
    for index, text in enumerate(found):
        if text == "":
            continue
        read = read_endpoint(text) if isinstance(text, str) else None
        if read is None:
            raise node.wrong("endpoints", index, wanted="NAME://host:port")
        listener, host, port = read
        protocol = protocols.get(listener)
        if protocol is None:
            raise _without_protocol(node, index, listener, protocols)
        endpoints.append(
            as_checked(Endpoint, listener=listener, protocol=protocol, host=host, port=port)
        )
    listener_map: dict[str, str] = node.members.get(LISTENER_MAP, {})
    named = {each.listener for each in endpoints}
    if named.issuperset(listener_map):
        return tuple(endpoints), {}
    return tuple(endpoints), {
        name: listener_map[name] for name in sorted(listener_map.keys() - named)
    }


def _without_protocol(
    node: ReceivedNode, index: int, listener: str, protocols: Mapping[str, SecurityProtocol]
) -> RemoteProtocolError:
    names = escaped(", ".join(sorted(protocols)))[:_SHOWN] or "none"
    return node.error(
        "endpoints",
        index,
        sentence=f"listener {escaped(listener)[:_SHOWN]} has no protocol; the map names {names}",
        wanted="a protocol for each listener",
    )


def _protocols(node: ReceivedNode) -> Mapping[str, SecurityProtocol]:
    """Read listener -> protocol. Without a map each protocol has the listener of its name."""
    if LISTENER_MAP not in node.members:
        return PROTOCOLS
    found = node.members[LISTENER_MAP]
    if not isinstance(found, dict):
        raise node.wrong(LISTENER_MAP, wanted="an object of listeners and their protocols")
    protocols: dict[str, SecurityProtocol] = {}
    for listener, name in found.items():
        protocol = PROTOCOLS.get(name.upper()) if isinstance(name, str) else None
        if protocol is None:
            raise node.wrong(LISTENER_MAP, listener, wanted=f"one of {', '.join(PROTOCOLS)}")
        protocols[listener] = protocol
    return protocols


def _rack(node: ReceivedNode) -> str | None:
    found = node.members.get("rack")
    if found is None or isinstance(found, str):
        return found
    raise node.wrong("rack", wanted="text or null")


def _jmx_port(node: ReceivedNode) -> int | None:
    found = node.members.get("jmx_port")
    if found is None or fits(found, INT32):
        return found
    raise node.wrong("jmx_port", wanted="a port, or -1")


def _timestamp(found: object) -> int | None:
    """Read milliseconds, as text. Kafka never uses them, so an invalid value is not an error."""
    if not isinstance(found, str) or len(found) > _MILLISECOND_CHARACTERS:
        return None
    try:
        number = int(found)
    except ValueError:
        return None
    return number if fits(number, INT64) and str(number) == found else None


def _features(
    node: ReceivedNode,
) -> tuple[dict[str, tuple[int, int]], dict[str, dict[str, Any]]]:
    """Read the lowest and highest version of each feature, and the labels beside them."""
    found = node.members.get("features")
    if found is None:
        return {}, {}
    if not isinstance(found, dict):
        raise node.wrong("features", wanted="an object of features")
    features: dict[str, tuple[int, int]] = {}
    labels: dict[str, dict[str, Any]] = {}
    for name, bounds in found.items():
        if not isinstance(bounds, dict):
            raise node.wrong("features", name, wanted="min_version and max_version")
        for label in RANGE:
            if not fits(bounds.get(label), INT16):
                raise node.wrong("features", name, label, wanted="a version of 16 bits")
        features[name] = (bounds[RANGE[0]], bounds[RANGE[1]])
        if len(bounds) > len(RANGE):
            labels[name] = {label: bounds[label] for label in bounds if label not in RANGE}
    return features, labels
