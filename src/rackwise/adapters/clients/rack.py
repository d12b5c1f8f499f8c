"""The rack of this process, from its configuration: `client.rack` for a client without one.

The sources are tried in this order. The first one with a value is used:

```
environment        KAFKA_CLIENT_RACK, or the variables that you name
file               one line, as Kubernetes' downward API writes a label of the node
metadata service   only when asked: the zone, by AWS (an id, not a name), Google Cloud or Azure
```

The services usually return what brokers on the same cloud have as `broker.rack`. An AWS zone NAME
means a different place in each account; an AWS zone ID means the same place in all accounts.

What this does not do: compare the rack with the brokers' racks; `rackwise doctor` does.

Source: AWS IMDSv2 `placement/availability-zone-id`; Google Cloud `instance/zone`; Azure IMDS
`instance/compute`.
"""

from __future__ import annotations

import os
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ADDRESS = ("169.254.169.254", 80)
TIMEOUT_S = 1.0
_OK = 200
_ZONE_ID = "/latest/meta-data/placement/availability-zone-id"
_GOOGLE_ZONE = "/computeMetadata/v1/instance/zone"
_AZURE = "/metadata/instance/compute/{}?api-version=2021-02-01&format=text"


def detect_rack(
    *,
    env: Sequence[str] = ("KAFKA_CLIENT_RACK",),
    file: Path | None = None,
    metadata_service: bool = False,
    address: tuple[str, int] = ADDRESS,
) -> str | None:
    """The rack, or None if no source has a value.

    `env`: names of variables; the first one that is set and not blank is used. `file`: a missing or
    blank file has no value. `metadata_service`: query the cloud at `address`, with a timeout of one
    second for each of the three services.
    """
    for name in env:
        if found := os.environ.get(name, "").strip():
            return found
    if file is not None and file.is_file() and (found := file.read_text("utf-8").strip()):
        return found
    return _asked(address) if metadata_service else None


def check_rack(rack: object, plain: str) -> None:
    """Reject a `client_rack` that is absent or blank; `plain`: the client's class without a rack.

    Raises `InvalidConfig`.
    """
    # The partitioner loads numpy; `detect_rack` alone does not need it.
    from rackwise.core.partitioner.choice.rack_levels import is_blank

    if rack is None or (isinstance(rack, str) and is_blank(rack)):
        raise InvalidConfig(
            "invalid client_rack: expected the rack of this process, got none",
            wanted="the rack of this process",
            had=rack,
            hint="give the client.rack of this machine; detect_rack() is None where no source has "
            f"it: set KAFKA_CLIENT_RACK, or use {plain}",
        )


def inkless_client_id(client_id: str, az: str) -> str:
    """A client id that contains the client's zone, for the brokers of a diskless topic.

    No single broker leads a diskless topic. Inkless brokers read the zone in the client id and
    return metadata with the brokers of that zone.

    >>> inkless_client_id("app", "az1")
    'app,diskless_az=az1'
    """
    return f"{client_id},diskless_az={az}"


def _asked(address: tuple[str, int]) -> str | None:
    return _aws(address) or _google(address) or _azure(address)


def _aws(address: tuple[str, int]) -> str | None:
    lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    token = _answer(address, "PUT", "/latest/api/token", lifetime)
    if token is None:
        return None
    return _answer(address, "GET", _ZONE_ID, {"X-aws-ec2-metadata-token": token})


def _google(address: tuple[str, int]) -> str | None:
    found = _answer(address, "GET", _GOOGLE_ZONE, {"Metadata-Flavor": "Google"})
    return None if found is None else found.rpartition("/")[2]


def _azure(address: tuple[str, int]) -> str | None:
    headers = {"Metadata": "true"}
    location = _answer(address, "GET", _AZURE.format("location"), headers)
    zone = location and _answer(address, "GET", _AZURE.format("zone"), headers)
    return f"{location}-{zone}" if zone else None


def _answer(
    address: tuple[str, int], method: str, path: str, headers: Mapping[str, str]
) -> str | None:
    """The answer of a service; None if it is empty, or the service is not available."""
    connection = HTTPConnection(*address, timeout=TIMEOUT_S)
    try:
        connection.request(method, path, headers=dict(headers))
        response = connection.getresponse()
        text = response.read(1000).decode("utf-8", "replace").strip()
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
    return text if response.status == _OK and text else None
