"""ApiVersions, api key 18, versions 0 to 4: which messages a server understands.

```
request   0-2  nothing
          3-4  client_software_name, client_software_version compact texts, tagged fields
response  0    error_code int16, array of (api_key, min_version, max_version int16)
          1-2  and throttle_time_ms int32
          3-4  the array compact, tagged fields after each key; tagged fields at the end:
               0 SupportedFeatures compact array of (name compact text, min_version, max_version
               int16, tagged fields)
```

A server that does not know the version of the request answers in version 0 with error 35 and its
keys, so that the client can ask again. Versions 3 and 4 have the same fields: up to 3, brokers hide
features whose least version is 0.

Unknown tagged fields of the answer, finalized features among them, are kept as bytes; those of a
key or a feature are passed over.

Source: `ApiVersionsRequest.json`, `ApiVersionsResponse.json`; KIP-35, KIP-482, KIP-511, KIP-584.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.wire.reader import Reader, unreadable
from rackwise.core.wire.writer import Writer, require_version

if TYPE_CHECKING:
    from collections.abc import Mapping

API_KEY = 18
NEWEST = 4
UNSUPPORTED_VERSION = 35
_WITH_THROTTLE = 1
_FLEXIBLE = 3
_SUPPORTED_FEATURES = 0
_KEY_BYTES = 6
_LEAST_FEATURE = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest:
    """The client that asks; both fields are empty in versions 0 to 2."""

    client_software_name: str = ""
    client_software_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRange:
    """The versions of one message that a server understands, all int16."""

    api_key: int
    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse:
    """The answer.

    `error_code`: int16. `ranges`: one for each key. `throttle_time_ms`: int32. `features`: the
    supported ones, name -> least and most version, int16. `unknown_tags`: other tagged fields, with
    their bytes.
    """

    error_code: int = 0
    ranges: tuple[ApiRange, ...]
    throttle_time_ms: int = 0
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    unknown_tags: tuple[tuple[int, bytes], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", MappingProxyType(dict(self.features)))


def write_api_versions_request(request: ApiVersionsRequest, *, version: int) -> bytes:
    """Write the body of a request of version 0 to 4. Raises `LocalProtocolError`."""
    require_version("ApiVersions", version, newest=NEWEST)
    writer = Writer()
    if version >= _FLEXIBLE:
        writer.compact_text(request.client_software_name)
        writer.compact_text(request.client_software_version)
        writer.tags()
    return bytes(writer.data)


def read_api_versions_request(data: bytes, *, version: int) -> ApiVersionsRequest:
    """Read the body of a request; tagged fields are skipped.

    Raises `RemoteProtocolError`; `LocalProtocolError` for a version that is not 0 to 4.
    """
    require_version("ApiVersions", version, newest=NEWEST)
    reader = Reader(data)
    request = ApiVersionsRequest()
    if version >= _FLEXIBLE:
        request = ApiVersionsRequest(
            client_software_name=reader.compact_text(),
            client_software_version=reader.compact_text(),
        )
        reader.pass_over_tags()
    reader.close()
    return request


def write_api_versions_response(response: ApiVersionsResponse, *, version: int) -> bytes:
    """Write the body of an answer of version 0 to 4, without fields that the version lacks.

    Raises `LocalProtocolError`.
    """
    require_version("ApiVersions", version, newest=NEWEST)
    is_flexible = version >= _FLEXIBLE
    writer = Writer()
    writer.int16(response.error_code)
    if is_flexible:
        writer.unsigned_varint(len(response.ranges) + 1)
    else:
        writer.int32(len(response.ranges))
    for known in response.ranges:
        writer.int16(known.api_key)
        writer.int16(known.least)
        writer.int16(known.most)
        if is_flexible:
            writer.tags()
    if version >= _WITH_THROTTLE:
        writer.int32(response.throttle_time_ms)
    if is_flexible:
        features = [(_SUPPORTED_FEATURES, _features(response))] if response.features else []
        writer.tags([*features, *response.unknown_tags])
    return bytes(writer.data)


def read_api_versions_response(data: bytes, *, version: int) -> ApiVersionsResponse:
    """Read the body of an answer.

    Raises `RemoteProtocolError`; `LocalProtocolError` for a version that is not 0 to 4.
    """
    require_version("ApiVersions", version, newest=NEWEST)
    is_flexible = version >= _FLEXIBLE
    reader = Reader(data)
    error_code = reader.int16()
    count = reader.compact_count(_KEY_BYTES + 1) if is_flexible else reader.count(_KEY_BYTES)
    ranges = tuple(_read_range(reader, is_flexible=is_flexible) for _ in range(count))
    throttle_time_ms = reader.int32() if version >= _WITH_THROTTLE else 0
    features: Mapping[str, tuple[int, int]] = {}
    unknown_tags = []
    for tag, size in reader.tags() if is_flexible else ():
        if tag == _SUPPORTED_FEATURES:
            features = _read_features(reader)
        else:
            unknown_tags.append((tag, reader.octets(size)))
    reader.close()
    return ApiVersionsResponse(
        error_code=error_code,
        ranges=ranges,
        throttle_time_ms=throttle_time_ms,
        features=features,
        unknown_tags=tuple(unknown_tags),
    )


def _features(response: ApiVersionsResponse) -> bytes:
    writer = Writer()
    writer.unsigned_varint(len(response.features) + 1)
    for name, (least, most) in response.features.items():
        writer.compact_text(name)
        writer.int16(least)
        writer.int16(most)
        writer.tags()
    return bytes(writer.data)


def _read_range(reader: Reader, *, is_flexible: bool) -> ApiRange:
    known = ApiRange(api_key=reader.int16(), least=reader.int16(), most=reader.int16())
    if is_flexible:
        reader.pass_over_tags()
    return known


def _read_features(reader: Reader) -> dict[str, tuple[int, int]]:
    features: dict[str, tuple[int, int]] = {}
    for _ in range(reader.compact_count(_LEAST_FEATURE)):
        start = reader.offset
        name = reader.compact_text()
        if name in features:
            raise unreadable(start, "each feature once", "one twice")
        features[name] = (reader.int16(), reader.int16())
        reader.pass_over_tags()
    return features
