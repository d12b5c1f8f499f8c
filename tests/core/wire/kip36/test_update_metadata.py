"""What the controller tells every broker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_wire import check_round_trip
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.headers import RequestHeader, read_request_header, write_request_header
from rackwise.core.wire.kip36.update_metadata import (
    API_KEY,
    read_update_metadata,
    read_update_metadata_response,
    write_update_metadata,
    write_update_metadata_response,
)
from wire_messages import (
    BROKER_1,
    BROKER_2,
    INT16,
    UPDATE,
    UPDATE_METADATA,
    as_read,
    octets,
    update_metadatas,
)

VERSIONS = pytest.mark.parametrize("version", [0, 1, 2])


class TestVectors:
    @pytest.mark.parametrize(("version", "size"), [(0, 93), (1, 118), (2, 125)])
    def test_are_written(self, version, size):
        data = write_update_metadata(UPDATE, version=version)
        assert data == UPDATE_METADATA[version]
        assert len(data) == size

    @VERSIONS
    def test_are_read(self, version):
        live_brokers = tuple(
            as_read(b.broker_id, b.endpoints, rack=b.rack, version=version)
            for b in (BROKER_1, BROKER_2)
        )
        found = read_update_metadata(UPDATE_METADATA[version], version=version)
        assert found == replace(UPDATE, live_brokers=live_brokers)

    def test_of_the_response(self):
        assert write_update_metadata_response(0) == octets("0000")
        assert read_update_metadata_response(octets("0000")) == 0


class TestTextAndBytes:
    def test_version_id_correlation_id_client_id_are_the_header(self):
        """ "VersionID CorrelationID ClientID Controller_ID Controller_Epoch Partition_States
        Brokers"."""
        header = RequestHeader(api_key=API_KEY, api_version=2, correlation_id=7, client_id="c")
        before = write_request_header(header, version=1)
        assert before == octets("0006 0002 00000007 0001 63")
        _, offset = read_request_header(before + UPDATE_METADATA[2], version=1)
        assert (before + UPDATE_METADATA[2])[offset:] == UPDATE_METADATA[2]

    def test_the_rack_is_nullable(self):
        """ "Rack => string"."""
        assert UPDATE_METADATA[2].endswith(octets("ffff"))
        found = read_update_metadata(UPDATE_METADATA[2], version=2)
        assert [b.rack for b in found.live_brokers] == ["dc1", None]


@VERSIONS
@given(drawn=st.data())
def test_what_was_written_is_read(version, drawn):
    check_round_trip(
        drawn.draw(update_metadatas(version)),
        lambda value: write_update_metadata(value, version=version),
        lambda data: read_update_metadata(data, version=version),
    )


@given(INT16)
def test_an_answer_is_read_as_written(error_code):
    check_round_trip(error_code, write_update_metadata_response, read_update_metadata_response)


def test_a_count_over_what_is_left_is_refused_before_anything_is_made():
    with pytest.raises(RemoteProtocolError, match=r"^offset 8: expected a count from 0 to 0"):
        read_update_metadata(octets("00000001 00000003 7fffffff"), version=2)


@pytest.mark.parametrize("version", [-1, 3])
def test_other_versions_have_no_codec(version):
    with pytest.raises(
        LocalProtocolError, match="invalid UpdateMetadata version: expected 0 to 2"
    ) as caught:
        write_update_metadata(UPDATE, version=version)
    assert "inter.broker.protocol.version" in caught.value.hint
    with pytest.raises(LocalProtocolError, match="invalid UpdateMetadata version: expected 0 to 2"):
        read_update_metadata(UPDATE_METADATA[2], version=version)
