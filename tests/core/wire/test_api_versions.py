"""Which messages a server understands, and the feature by which ours is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_wire import check_round_trip
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.api_versions import (
    UNSUPPORTED_VERSION,
    ApiVersionsRequest,
    read_api_versions_request,
    read_api_versions_response,
    write_api_versions_request,
    write_api_versions_response,
)
from wire_messages import (
    API_VERSIONS_REQUESTS,
    SERVER_RANGES,
    SERVER_VERSIONS,
    SERVER_VERSIONS_3,
    SERVER_VERSIONS_OTHER,
    api_versions_responses,
    octets,
)

VERSIONS = pytest.mark.parametrize("version", range(5))
BODY = 8
"""Where a body starts behind size and correlation id."""


class TestRequest:
    @pytest.mark.parametrize("version", [3, 4])
    @given(request=API_VERSIONS_REQUESTS)
    def test_is_read_as_written(self, version, request):
        check_round_trip(
            request,
            lambda value: write_api_versions_request(value, version=version),
            lambda data: read_api_versions_request(data, version=version),
        )

    def test_of_version_3_names_the_software(self):
        request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        data = write_api_versions_request(request, version=3)
        assert data == octets("0261 0231 00")
        assert read_api_versions_request(data[:-1] + octets("01 07 00"), version=3) == request

    @pytest.mark.parametrize("version", [0, 1, 2])
    def test_of_older_versions_is_empty(self, version):
        request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        assert write_api_versions_request(request, version=version) == b""
        assert read_api_versions_request(b"", version=version) == ApiVersionsRequest()
        with pytest.raises(RemoteProtocolError, match="expected the end"):
            read_api_versions_request(b"\x00", version=version)


class TestResponse:
    @pytest.mark.parametrize("version", [3, 4])
    def test_shows_the_marker(self, version):
        data = write_api_versions_response(SERVER_VERSIONS, version=version)
        assert data == SERVER_VERSIONS_3[BODY:]
        assert read_api_versions_response(data, version=version) == SERVER_VERSIONS

    def test_to_an_unknown_version_is_one_of_version_0(self):
        refused = replace(SERVER_VERSIONS, error_code=UNSUPPORTED_VERSION)
        data = write_api_versions_response(refused, version=0)
        assert data == SERVER_VERSIONS_OTHER[BODY:]
        read = read_api_versions_response(data, version=0)
        assert (read.error_code, read.ranges, dict(read.features)) == (35, SERVER_RANGES, {})

    @VERSIONS
    @given(drawn=st.data())
    def test_is_read_as_written(self, version, drawn):
        check_round_trip(
            drawn.draw(api_versions_responses(version)),
            lambda value: write_api_versions_response(value, version=version),
            lambda data: read_api_versions_response(data, version=version),
        )

    def test_keeps_tagged_fields_that_are_not_known(self):
        data = octets("0000 01 00000000 02 01 08 0000000000000005 03 01 01")
        read = read_api_versions_response(data, version=3)
        assert read.unknown_tags == ((1, octets("0000000000000005")), (3, b"\x01"))

    def test_names_no_feature_twice(self):
        data = octets("0000 01 00000000 01 00 0f 03 0261 0001 0001 00 0261 0001 0002 00")
        with pytest.raises(RemoteProtocolError, match="expected each feature once, got one twice"):
            read_api_versions_response(data, version=3)

    def test_cannot_be_changed(self):
        with pytest.raises(TypeError):
            SERVER_VERSIONS.features["other"] = (1, 1)


@pytest.mark.parametrize("version", [-1, 5])
def test_other_versions_have_no_codec(version):
    with pytest.raises(LocalProtocolError, match="invalid ApiVersions version: expected 0 to 4"):
        write_api_versions_request(ApiVersionsRequest(), version=version)
    with pytest.raises(LocalProtocolError, match="invalid ApiVersions version: expected 0 to 4"):
        read_api_versions_request(b"", version=version)
    with pytest.raises(LocalProtocolError, match="invalid ApiVersions version: expected 0 to 4"):
        write_api_versions_response(SERVER_VERSIONS, version=version)
    with pytest.raises(LocalProtocolError, match="invalid ApiVersions version: expected 0 to 4"):
        read_api_versions_response(b"", version=version)
