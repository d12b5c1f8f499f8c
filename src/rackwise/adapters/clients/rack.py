"""The rack of this process, from its configuration: `client.rack` for a client without one.

The sources are tried in this order. The first one with a value is used:

```
environment        KAFKA_CLIENT_RACK, or the variables that you name
file               one line, or the labels of the pod; Kubernetes' downward API writes both
metadata service   only when asked: the zone, by AWS (its id or name), Google Cloud or Azure
```

Kubernetes copies the zone of the node to the labels of the pod (KEP-4742). A file of labels has a
line `topology.kubernetes.io/zone="use1-az4"`; without this line it has no value.

A client must start where there is no metadata service. All questions together take at most
`TOTAL_S`: they are asked on a thread that is not waited for any longer.

The services usually return what brokers on the same cloud have as `broker.rack`. An AWS zone NAME
means a different place in each account; an AWS zone ID means the same place in all accounts.

What this does not do: compare the rack with the brokers' racks; `rackwise doctor` does.

Source: AWS IMDSv2 `placement/availability-zone-id` and `placement/availability-zone`; Google Cloud
`instance/zone`; Azure IMDS `instance/compute`; Kubernetes, KEP-4742.
"""

from __future__ import annotations

import os
import re
import threading
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.core.errors import InvalidConfig
from rackwise.core.inventory.zones import ZONE_LABEL, azure_zone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

AwsZone: TypeAlias = Literal["id", "name"]
ADDRESS = ("169.254.169.254", 80)
TOTAL_S = 0.9
"""Maximum time for all questions to the metadata service."""
_LABEL = re.compile(r'^([^\s=]+)="((?:[^"\\]|\\.)*)"$', re.MULTILINE)
_ANSWER = re.compile(r"[A-Za-z0-9._/=+-]{1,200}")
"""A token or a zone. A proxy that answers in place of the service returns a page instead."""
_OK = 200
_AWS_ZONES = {
    "id": "/latest/meta-data/placement/availability-zone-id",
    "name": "/latest/meta-data/placement/availability-zone",
}
_GOOGLE_ZONE = "/computeMetadata/v1/instance/zone"
_AZURE = "/metadata/instance/compute/{}?api-version=2021-02-01&format=text"


def detect_rack(
    *,
    env: Sequence[str] = ("KAFKA_CLIENT_RACK",),
    file: Path | None = None,
    metadata_service: bool = False,
    aws_zone: AwsZone = "id",
    address: tuple[str, int] = ADDRESS,
) -> str | None:
    """The rack, or None if no source has a value. Raises nothing.

    `env`: names of variables; the first one that is set and not blank is used. `file`: one line, or
    the labels of a pod; a file that is missing, not readable or blank has no value.
    `metadata_service`: ask the cloud at `address`, for less than a second in all. `aws_zone`: an id
    such as `use1-az4`, which MSK has as `broker.rack`, or a name such as `us-east-1a`.
    """
    for name in env:
        if found := os.environ.get(name, "").strip():
            return found
    if file is not None and (of_file := _of_file(file)):
        return of_file
    return _asked(address, aws_zone) if metadata_service else None


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


def _of_file(file: Path) -> str | None:
    try:
        text = file.read_text("utf-8").strip() if file.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return None
    if labels := dict(_LABEL.findall(text)):
        return labels.get(ZONE_LABEL) or None
    return None if "\n" in text else text or None


def _asked(address: tuple[str, int], aws_zone: AwsZone) -> str | None:
    """The answer of the first service that has one, within `TOTAL_S`."""
    found: list[str | None] = []

    def ask() -> None:
        found.append(_aws(address, aws_zone) or _google(address) or _azure(address))

    # A service may send a byte now and then, which no timeout of a socket ends.
    thread = threading.Thread(target=ask, name="rackwise-detect-rack", daemon=True)
    thread.start()
    thread.join(TOTAL_S)
    return found[0] if found else None


def _aws(address: tuple[str, int], zone: AwsZone) -> str | None:
    lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    token = _answer(address, "PUT", "/latest/api/token", lifetime)
    if token is None:
        return None
    return _answer(address, "GET", _AWS_ZONES[zone], {"X-aws-ec2-metadata-token": token})


def _google(address: tuple[str, int]) -> str | None:
    found = _answer(address, "GET", _GOOGLE_ZONE, {"Metadata-Flavor": "Google"})
    return None if found is None else found.rpartition("/")[2]


def _azure(address: tuple[str, int]) -> str | None:
    headers = {"Metadata": "true"}
    location = _answer(address, "GET", _AZURE.format("location"), headers)
    zone = location and _answer(address, "GET", _AZURE.format("zone"), headers)
    return azure_zone(location, zone) if location and zone else None


def _answer(
    address: tuple[str, int], method: str, path: str, headers: Mapping[str, str]
) -> str | None:
    """The token or zone of a service; None if the answer is another text, or there is none."""
    connection = HTTPConnection(*address, timeout=TOTAL_S)
    try:
        connection.request(method, path, headers=dict(headers))
        response = connection.getresponse()
        text = response.read(1000).decode("utf-8", "replace").strip()
    except (OSError, HTTPException, ValueError):  # ValueError: no value of a header, no header
        return None
    finally:
        connection.close()
    return text if response.status == _OK and _ANSWER.fullmatch(text) else None
