"""The rack that this process is in, as configured: `client.rack` for a client without one.

Looked for in this order; the first that says something has it:

```
environment        KAFKA_CLIENT_RACK, or the variables that you name
file               one line, as Kubernetes' downward API writes a label of the node
metadata service   only when asked: the zone, by AWS (an id, not a name), Google Cloud or Azure
```

The answers of the services are what brokers on the same cloud usually have as `broker.rack`. A zone
NAME of AWS means another place in every account; its zone ID does not.

What this does not do: compare it with the brokers' racks; `rackwise doctor` does.

Source: AWS IMDSv2 `placement/availability-zone-id`; Google Cloud `instance/zone`; Azure IMDS
`instance/compute`.
"""

from __future__ import annotations

import os
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING

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
    """The rack, or None where nobody says one.

    `env`: names of variables, the first that is set and not blank; `file`: missing or blank says
    nothing; `metadata_service`: ask the cloud at `address`, a second for each of three.
    """
    for name in env:
        if found := os.environ.get(name, "").strip():
            return found
    if file is not None and file.is_file() and (found := file.read_text("utf-8").strip()):
        return found
    return _asked(address) if metadata_service else None


def inkless_client_id(client_id: str, az: str) -> str:
    """A client id that tells a diskless topic's brokers where the client is.

    Diskless topics are led by no broker in particular: brokers of Inkless answer metadata so that
    a client meets those of the zone in its id.

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
    """What a service says; None where it says nothing, or is not there."""
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
