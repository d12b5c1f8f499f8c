"""What clients are told of brokers and topics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_wire import check_round_trip
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.metadata import (
    read_metadata_request,
    read_metadata_response,
    write_metadata_request,
    write_metadata_response,
)
from wire_messages import (
    METADATA,
    METADATA_TEXT_1,
    METADATA_VALUE,
    TEXTS,
    metadata_responses,
    octets,
)

VERSIONS = pytest.mark.parametrize("version", [0, 1])


class TestRequest:
    @pytest.mark.parametrize(
        ("topics", "version", "data"),
        [
            (None, 0, "00000000"),
            (None, 1, "ffffffff"),
            ((), 1, "00000000"),
            (("t",), 0, "00000001 000174"),
            (("t",), 1, "00000001 000174"),
        ],
    )
    def test_vectors(self, topics, version, data):
        assert write_metadata_request(topics, version=version) == octets(data)
        assert read_metadata_request(octets(data), version=version) == topics

    @VERSIONS
    @given(topics=st.none() | st.lists(TEXTS, min_size=1, max_size=4).map(tuple))
    def test_is_read_as_written(self, version, topics):
        check_round_trip(
            topics,
            lambda value: write_metadata_request(value, version=version),
            lambda data: read_metadata_request(data, version=version),
        )

    def test_of_version_0_cannot_ask_for_none(self):
        with pytest.raises(
            LocalProtocolError, match="version 0 reads an empty list as all topics"
        ) as caught:
            write_metadata_request((), version=0)
        assert caught.value.hint == "write version 1"

    def test_of_version_0_is_never_null(self):
        with pytest.raises(RemoteProtocolError, match="got -1"):
            read_metadata_request(octets("ffffffff"), version=0)


class TestResponse:
    @VERSIONS
    def test_vectors(self, version):
        value, data = METADATA_VALUE[version], METADATA[version]
        assert write_metadata_response(value, version=version) == data
        assert read_metadata_response(data, version=version) == value

    def test_of_version_0_leaves_out_racks_and_controller(self):
        assert write_metadata_response(METADATA_VALUE[1], version=0) == METADATA[0]

    @VERSIONS
    @given(drawn=st.data())
    def test_is_read_as_written(self, version, drawn):
        check_round_trip(
            drawn.draw(metadata_responses(version)),
            lambda value: write_metadata_response(value, version=version),
            lambda data: read_metadata_response(data, version=version),
        )

    def test_without_controller_says_so(self):
        data = octets("00000000 ffffffff 00000000")
        assert read_metadata_response(data, version=1).controller_id is None


class TestTextOfTheKip:
    """ "CorrelationID BrokerEndPoints TopicsMetaData", where "BrokerEndPoint => BrokerID Host Port
    Rack // Rack is added" and "Rack => string"."""

    def test_is_not_what_was_shipped(self):
        with pytest.raises(RemoteProtocolError):
            read_metadata_response(METADATA_TEXT_1, version=1)

    def test_lacks_five_bytes_of_it(self):
        controller, internal = octets("00000001"), b"\x00"
        at, behind = METADATA_TEXT_1.index(octets("00000001 0000 000174")), len("t") + 8
        assert METADATA[1] == (
            METADATA_TEXT_1[:at]
            + controller
            + METADATA_TEXT_1[at : at + behind]
            + internal
            + METADATA_TEXT_1[at + behind :]
        )


@pytest.mark.parametrize("version", [-1, 2])
def test_other_versions_have_no_codec(version):
    with pytest.raises(LocalProtocolError, match="invalid Metadata version: expected 0 to 1"):
        write_metadata_request(None, version=version)
    with pytest.raises(LocalProtocolError, match="invalid Metadata version: expected 0 to 1"):
        read_metadata_request(b"", version=version)
    with pytest.raises(LocalProtocolError, match="invalid Metadata version: expected 0 to 1"):
        write_metadata_response(METADATA_VALUE[1], version=version)
    with pytest.raises(LocalProtocolError, match="invalid Metadata version: expected 0 to 1"):
        read_metadata_response(METADATA[1], version=version)
