"""Reads frames of clients, and writes answers as frames.

```
key  versions   answered with
18   0 to 4     these keys, and from 3 on the marker of the service
18   others     version 0 with error 35 and the keys
3    0 to 1     one broker, the service itself; no topics
68   0          the placer's answer; another key may be configured
17   1          see `login_calls`; only if clients log in, as key 36
36   0 to 2     see `login_calls`
else            no answer: the connection is closed, as Kafka does
```

Requests with key 18 from version 3 on, and the assignment, have header version 2 with tagged
fields. Answers to keys 18 and 3 have header version 0, and the answer to the assignment has
version 1. An unknown version of key 18 is answered whatever its body is, because the client then
repeats the request with a known version.

The length of client names is limited, because they are written to the log.

What this does not do: place replicas, or read a stream.

Source: KIP-35, KIP-511, KIP-879; Kafka's protocol guide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.wire import api_versions, metadata, sasl
from rackwise.core.wire.api_versions import (
    ApiRange,
    ApiVersionsResponse,
    read_api_versions_request,
    write_api_versions_response,
)
from rackwise.core.wire.headers import (
    RequestHeader,
    read_api,
    read_request_header,
    write_frame,
    write_response_header,
)
from rackwise.core.wire.metadata import (
    MetadataBroker,
    MetadataResponse,
    read_metadata_request,
    write_metadata_response,
)
from rackwise.core.wire.reader import unreadable
from rackwise.core.wire.replica_assignment import MARKER, read_request, write_response

if TYPE_CHECKING:
    from rackwise.core.wire.replica_assignment import AssignmentRequest, AssignmentResponse

NODE_ID = 0
"""The id under which the service lists itself as the only broker."""
MOST_NAME = 256
"""The most characters of a client's name."""
_NEWEST_METADATA = 1
_FLEXIBLE_API_VERSIONS = 3
_LOGIN_RANGES = (
    ApiRange(api_key=sasl.HANDSHAKE_KEY, least=sasl.HANDSHAKE_VERSION, most=sasl.HANDSHAKE_VERSION),
    ApiRange(api_key=sasl.AUTHENTICATE_KEY, least=0, most=sasl.NEWEST_AUTHENTICATE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request for rows, and its client."""

    correlation_id: int
    client_id: str | None
    request: AssignmentRequest


def read_call(
    frame: bytes, *, api_key: int, host: str, port: int, has_logins: bool = False
) -> Call | bytes:
    """The request of a frame, or the framed answer where no placer is needed.

    `frame`: without its size. `api_key`: of the assignment. `host`, `port`: the address at which
    clients reach the service. `has_logins`: whether clients log in. Raises `RemoteProtocolError`
    for a frame that is not answered.
    """
    key, version = read_api(frame)
    if key == api_versions.API_KEY:
        return _answer_api_versions(frame, version, api_key, has_logins=has_logins)
    if key == metadata.API_KEY and 0 <= version <= _NEWEST_METADATA:
        return _answer_metadata(frame, version, host, port)
    if (key, version) == (api_key, 0):
        header, body = read_header(frame, version=2)
        return Call(
            correlation_id=header.correlation_id,
            client_id=header.client_id,
            request=read_request(body),
        )
    raise unreadable(0, "a message that is served", f"api key {key} version {version}")


def write_answer(correlation_id: int, response: AssignmentResponse) -> bytes:
    """The frame of an answer to a `Call`."""
    return write_frame(write_response_header(correlation_id, version=1) + write_response(response))


def _answer_api_versions(frame: bytes, version: int, api_key: int, *, has_logins: bool) -> bytes:
    is_known = 0 <= version <= api_versions.NEWEST
    ranges = (
        ApiRange(api_key=metadata.API_KEY, least=0, most=_NEWEST_METADATA),
        ApiRange(api_key=api_versions.API_KEY, least=0, most=api_versions.NEWEST),
        ApiRange(api_key=api_key, least=0, most=0),
        *(_LOGIN_RANGES if has_logins else ()),
    )
    header, body = read_header(
        frame, version=2 if is_known and version >= _FLEXIBLE_API_VERSIONS else 1
    )
    if is_known:
        client = read_api_versions_request(body, version=version)
        _check_name("client_software_name", client.client_software_name)
        _check_name("client_software_version", client.client_software_version)
    answer = ApiVersionsResponse(
        error_code=0 if is_known else api_versions.UNSUPPORTED_VERSION,
        ranges=ranges,
        features={MARKER: (1, 1)},
    )
    written = write_api_versions_response(answer, version=version if is_known else 0)
    return write_frame(write_response_header(header.correlation_id, version=0) + written)


def _answer_metadata(frame: bytes, version: int, host: str, port: int) -> bytes:
    header, body = read_header(frame, version=1)
    read_metadata_request(body, version=version)
    service = MetadataBroker(node_id=NODE_ID, host=host, port=port, rack=None)
    answer = MetadataResponse(brokers=(service,), controller_id=NODE_ID, topics=())
    written = write_metadata_response(answer, version=version)
    return write_frame(write_response_header(header.correlation_id, version=0) + written)


def read_header(frame: bytes, *, version: int) -> tuple[RequestHeader, bytes]:
    """The header of a request, and its body. Raises `RemoteProtocolError`."""
    header, offset = read_request_header(frame, version=version)
    _check_name("client_id", header.client_id or "")
    return header, frame[offset:]


def _check_name(field: str, name: str) -> None:
    if len(name) > MOST_NAME:
        raise unreadable(0, f"a {field} of up to {MOST_NAME} characters", f"one of {len(name)}")
