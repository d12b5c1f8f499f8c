"""Writes broker registrations in versions 1 to 5.

A version omits some fields by design: `dropped_fields` names them, for the caller to log. A value
that a version would change is rejected:

```
                      1              2           3           4        5
second endpoint       dropped        kept
rack                  dropped        dropped     kept
listener CLIENT       dropped        rejected    rejected    kept
features              dropped        dropped     dropped     dropped  kept
no PLAINTEXT          rejected       null, -1
```

Order: the fields of the version, then `extra` by name; compact JSON. Each node is read again and
compared before it is returned, so that it never differs from the registration.

What this does not do: decide which version a broker writes (see `ibp`); touch ZooKeeper.

Source: KIP-36, kafka.zk.BrokerIdZNode.encode.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.endpoints import INT32, Endpoint, SecurityProtocol, fits
from rackwise.core.wire.registration import (
    ENDPOINTS_SINCE,
    FEATURES_SINCE,
    LISTENER_MAP,
    LISTENER_MAP_SINCE,
    NEWEST,
    NO_JMX,
    NO_PORT,
    RACK_SINCE,
    RANGE,
    REGISTRATION_BYTES,
    BrokerRegistration,
    read_registration,
)
from rackwise.core.wire.zookeeper_json import write_node

_NESTED = {LISTENER_MAP: LISTENER_MAP_SINCE, "features": FEATURES_SINCE}
"""Fields whose unknown parts are in `extra` under the field's own name -> since which version."""


def dropped_fields(r: BrokerRegistration, *, version: int) -> tuple[str, ...]:
    """Return the fields of `r` that the version omits by design, in order.

    Raises `LocalProtocolError` for a version that is not 1 to 5.

    >>> from rackwise.core.wire.registration import BrokerRegistration
    >>> dropped_fields(BrokerRegistration(broker_id=1, endpoints=(), rack="dc1"), version=2)
    ('rack',)
    """
    _check_version(version)
    is_dropped = {
        "endpoints": version < ENDPOINTS_SINCE and r.endpoints != _first_plaintext(r),
        "rack": version < RACK_SINCE and r.rack is not None,
        LISTENER_MAP: version < LISTENER_MAP_SINCE and LISTENER_MAP in r.extra,
        "features": version < FEATURES_SINCE and (bool(r.features) or "features" in r.extra),
    }
    return tuple(name for name, dropped in is_dropped.items() if dropped)


def write_registration(r: BrokerRegistration, *, version: int) -> bytes:
    """Write the registration in a version from 1 to 5, without its `dropped_fields`.

    An absent `jmx_port` becomes -1; `host` and `port` become those of the first PLAINTEXT endpoint.
    Raises `LocalProtocolError` if the version would change anything else.
    """
    _check_version(version)
    _check_endpoints(r, version)
    held = _held(r, version)
    data = write_node(_members(held), most=REGISTRATION_BYTES)
    try:
        read = read_registration(held.broker_id, data)
    except RemoteProtocolError as error:
        raise _not_held(r, version, error.message) from None
    changed = [
        each.name for each in fields(held) if getattr(held, each.name) != getattr(read, each.name)
    ]
    if changed:
        raise _not_held(r, version, f"{' and '.join(changed)} would change")
    return data


def _members(held: BrokerRegistration) -> dict[str, object]:
    """Build the members in their order, then `extra` by name."""
    version, extra = held.version, dict(held.extra)
    members: dict[str, object] = {
        "version": version,
        "host": held.host,
        "port": held.port,
        "jmx_port": held.jmx_port,
    }
    if held.timestamp_ms is not None:
        members["timestamp"] = str(held.timestamp_ms)
    if version >= ENDPOINTS_SINCE:
        members["endpoints"] = [str(each) for each in held.endpoints]
    if held.rack is not None:
        members["rack"] = held.rack
    if version >= LISTENER_MAP_SINCE:
        protocols = {each.listener: each.protocol.name for each in held.endpoints}
        members[LISTENER_MAP] = protocols | _object(extra.pop(LISTENER_MAP, {}))
    if version >= FEATURES_SINCE:
        labels = _object(extra.pop("features", {}))
        members["features"] = {
            name: dict(zip(RANGE, bounds, strict=True)) | _object(labels.get(name, {}))
            for name, bounds in held.features.items()
        }
    return members | {name: extra[name] for name in sorted(extra)}


def _held(r: BrokerRegistration, version: int) -> BrokerRegistration:
    """Return `r` as that version holds it."""
    plaintext = next((each for each in r.endpoints if _is_plaintext(each)), None)
    held = replace(
        r,
        version=version,
        host=plaintext.host if plaintext else None,
        port=plaintext.port if plaintext else NO_PORT,
        jmx_port=NO_JMX if r.jmx_port is None else r.jmx_port,
        extra={
            name: value for name, value in r.extra.items() if version >= _NESTED.get(name, version)
        },
    )
    dropped = dropped_fields(r, version=version)
    if "endpoints" in dropped:
        held = replace(held, endpoints=_first_plaintext(r))
    if "rack" in dropped:
        held = replace(held, rack=None)
    return replace(held, features={}) if "features" in dropped else held


def _first_plaintext(r: BrokerRegistration) -> tuple[Endpoint, ...]:
    """Return the one endpoint that version 1 holds, with the listener that a reader gives it."""
    found = [each for each in r.endpoints if _is_plaintext(each)]
    return tuple(replace(each, listener=each.protocol.name) for each in found[:1])


def _is_plaintext(endpoint: Endpoint) -> bool:
    return endpoint.protocol is SecurityProtocol.PLAINTEXT


def _check_version(version: int) -> None:
    if not fits(version, INT32) or not 1 <= version <= NEWEST:
        raise LocalProtocolError(
            f"invalid registration version: expected 1 to {NEWEST}, got {version}",
            wanted=f"1 to {NEWEST}",
            had=version,
        )


def _check_endpoints(r: BrokerRegistration, version: int) -> None:
    if version < ENDPOINTS_SINCE and not any(map(_is_plaintext, r.endpoints)):
        names = ", ".join(each.protocol.name for each in r.endpoints)
        raise LocalProtocolError(
            f"version 1 holds one PLAINTEXT endpoint; "
            f"broker {r.broker_id} has {f'{names} only' if names else 'none'}",
            wanted="a PLAINTEXT endpoint",
            had=names or None,
            hint="write version 2, or 4 where listeners have names of their own",
        )
    if ENDPOINTS_SINCE <= version < LISTENER_MAP_SINCE:
        named = [each.listener for each in r.endpoints if each.listener != each.protocol.name]
        if named:
            raise LocalProtocolError(
                f"version {version} holds listeners that are named as their protocol; "
                f"broker {r.broker_id} has {', '.join(named)}",
                wanted="listeners named as their protocol",
                had=", ".join(named),
                hint=f"write version {LISTENER_MAP_SINCE} or {NEWEST}",
            )


def _not_held(r: BrokerRegistration, version: int, change: str) -> LocalProtocolError:
    return LocalProtocolError(
        f"version {version} does not hold broker {r.broker_id} as it is: {change}",
        wanted="what is read again as it was",
        had=change,
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
