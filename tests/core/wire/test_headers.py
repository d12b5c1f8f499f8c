"""What stands before every message."""

from __future__ import annotations

import pytest
from hypothesis import given

from laws_wire import check_round_trip
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.headers import (
    RequestHeader,
    read_api,
    read_frame_size,
    read_request_header,
    read_response_header,
    write_frame,
    write_request_header,
    write_response_header,
)
from wire_messages import HEADERS, INT32, octets

UPDATE_METADATA = RequestHeader(api_key=6, api_version=2, correlation_id=7, client_id="c")
ASSIGNMENT = RequestHeader(api_key=68, api_version=0, correlation_id=7, client_id="rackwise")


def whole(read, version):
    """A reader of nothing but the header."""

    def read_all(data):
        header, offset = read(data, version=version)
        if offset < len(data):
            raise RemoteProtocolError("more", offset=offset)
        return header

    return read_all


class TestRequestHeader:
    @pytest.mark.parametrize(
        ("header", "version", "data"),
        [
            (UPDATE_METADATA, 1, octets("0006 0002 00000007 0001 63")),
            (ASSIGNMENT, 2, octets("0044 0000 00000007 0008 7261636b77697365 00")),
        ],
    )
    def test_vectors(self, header, version, data):
        assert write_request_header(header, version=version) == data
        assert read_request_header(data + b"body", version=version) == (header, len(data))
        assert read_api(data) == (header.api_key, header.api_version)

    @pytest.mark.parametrize("version", [1, 2])
    @given(header=HEADERS)
    def test_is_read_as_written(self, version, header):
        check_round_trip(
            header,
            lambda value: write_request_header(value, version=version),
            whole(read_request_header, version),
        )

    def test_may_have_tagged_fields(self):
        data = octets("0044 0000 00000007 ffff 01 05 02 abcd")
        header = RequestHeader(api_key=68, api_version=0, correlation_id=7)
        assert read_request_header(data, version=2) == (header, len(data))

    @pytest.mark.parametrize("version", [0, 3])
    def test_of_another_version_has_no_codec(self, version):
        with pytest.raises(
            LocalProtocolError, match="invalid request header version: expected 1 to 2"
        ):
            write_request_header(ASSIGNMENT, version=version)
        with pytest.raises(
            LocalProtocolError, match="invalid request header version: expected 1 to 2"
        ):
            read_request_header(b"", version=version)


class TestResponseHeader:
    @pytest.mark.parametrize(("version", "data"), [(0, "00000007"), (1, "0000000700")])
    def test_vectors(self, version, data):
        assert write_response_header(7, version=version).hex() == data
        assert read_response_header(octets(data, "ff"), version=version) == (7, len(data) // 2)

    @pytest.mark.parametrize("version", [0, 1])
    @given(correlation_id=INT32)
    def test_is_read_as_written(self, version, correlation_id):
        check_round_trip(
            correlation_id,
            lambda value: write_response_header(value, version=version),
            whole(read_response_header, version),
        )


class TestFrames:
    def test_start_with_their_size(self):
        framed = write_frame(b"12345678")
        assert framed == b"\x00\x00\x00\x0812345678"
        assert read_frame_size(framed[:4]) == 8

    @pytest.mark.parametrize("size", [8, 1 << 20])
    def test_of_8_bytes_to_1_mib_are_taken(self, size):
        assert read_frame_size(size.to_bytes(4, "big")) == size

    @pytest.mark.parametrize("size", [-1, 0, 7, (1 << 20) + 1, 2**31 - 1])
    def test_of_other_sizes_are_refused(self, size):
        with pytest.raises(
            RemoteProtocolError,
            match=f"^offset 0: expected a frame of 8 to 1048576 bytes, got {size}$",
        ):
            read_frame_size(size.to_bytes(4, "big", signed=True))

    def test_have_other_bounds_where_a_client_reads(self):
        assert read_frame_size(b"\x01\x00\x00\x00", least=6, most=1 << 24) == 1 << 24
        with pytest.raises(RemoteProtocolError, match="6 to 16777216 bytes"):
            read_frame_size(b"\x00\x00\x00\x05", least=6, most=1 << 24)
