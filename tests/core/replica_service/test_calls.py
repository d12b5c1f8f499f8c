"""Frames of clients: requests for rows, answers without a placer, and frames without answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.replica_service.calls import MOST_NAME, Call, read_call, write_answer
from rackwise.core.wire.api_versions import ApiVersionsRequest, write_api_versions_request
from rackwise.core.wire.headers import read_response_header
from rackwise.core.wire.metadata import (
    MetadataBroker,
    MetadataResponse,
    read_metadata_response,
    write_metadata_request,
)
from rackwise.core.wire.replica_assignment import AssignmentRequest, AssignmentResponse
from service_frames import assignment, framed, header

MARKER = b"rackwise.replica.assignment".hex()
KEYS_3 = "04 0003 0000 0001 00 0012 0000 0004 00 0044 0000 0000 00"
VERSIONS_3 = f"00000045 00000007 0000 {KEYS_3} 00000000 01 00 22 02 1c {MARKER} 0001 0001 00"
VERSIONS_OTHER = "0000001c 00000007 0023 00000003 0003 0000 0001 0012 0000 0004 0044 0000 0000"
KIP_REQUEST = (
    "0044 0000 00000007 0008 7261636b77697365 00"
    "00000006 0003 00 04 00000001 00000002 0000012c 0000ea60 00"
)


def read(frame, api_key=68):
    return read_call(frame, api_key=api_key, host="10.0.0.1", port=19092)


def versions(version, *, name="librdkafka", software="2.16.1"):
    body = write_api_versions_request(
        ApiVersionsRequest(client_software_name=name, client_software_version=software),
        version=version,
    )
    return header(18, version, version=2 if version >= 3 else 1) + body


class TestApiVersions:
    @pytest.mark.parametrize("version", [3, 4])
    def test_the_marker_is_shown_from_version_3_on(self, version):
        assert read(versions(version)) == bytes.fromhex(VERSIONS_3)

    @pytest.mark.parametrize("version", [0, 1, 2])
    def test_older_versions_have_only_the_keys(self, version):
        answer = read(versions(version))
        assert answer[8:].startswith(bytes.fromhex("0000 00000003 0003 0000 0001 0012"))
        assert bytes.fromhex(MARKER) not in answer

    @pytest.mark.parametrize("version", [5, 99, -1])
    @pytest.mark.parametrize("body", [b"", b"\x00junk of another version"])
    def test_an_unknown_version_is_answered_with_the_known_ones(self, version, body):
        frame = header(18, version, version=1) + body
        assert read(frame) == bytes.fromhex(VERSIONS_OTHER)

    def test_the_key_is_configurable(self):
        answer = read(versions(3), api_key=1234)
        assert bytes.fromhex("04d2 0000 0000 00") in answer
        assert bytes.fromhex("0044 0000 0000") not in answer

    def test_a_body_that_is_cut_or_too_long_is_not_answered(self):
        for frame in (versions(3)[:-1], versions(3) + b"\x00", versions(0) + b"\x00"):
            with pytest.raises(RemoteProtocolError):
                read(frame)


class TestMetadata:
    @pytest.mark.parametrize("version", [0, 1])
    @pytest.mark.parametrize("topics", [None, ["t", "u"]])
    def test_the_service_is_the_only_broker_and_has_no_topics(self, version, topics):
        body = write_metadata_request(topics, version=version)
        answer = read(header(3, version, version=1) + body)
        correlation_id, start = read_response_header(answer[4:], version=0)
        assert correlation_id == 7
        assert int.from_bytes(answer[:4], "big") == len(answer) - 4
        assert read_metadata_response(answer[4 + start :], version=version) == MetadataResponse(
            brokers=(MetadataBroker(node_id=0, host="10.0.0.1", port=19092),),
            controller_id=0 if version else None,
            topics=(),
        )


class TestAssignment:
    def test_the_bytes_of_the_kip_are_a_call(self):
        """KIP-879: the request has NumPartitions, ReplicationFactor, ForceSimpleAssignment, ..."""
        assert read(bytes.fromhex(KIP_REQUEST)) == Call(
            correlation_id=7,
            client_id="rackwise",
            request=AssignmentRequest(
                num_partitions=6, replication_factor=3, node_ids=(1, 2, 300), timeout_ms=60_000
            ),
        )

    def test_a_client_may_have_no_name(self):
        frame = bytes.fromhex("0044 0000 00000007 ffff 00 00000001 0001 01 01 00001388 00")
        assert read(frame).client_id is None

    def test_the_key_is_configurable(self):
        assert isinstance(read(assignment(api_key=70), api_key=70), Call)
        with pytest.raises(RemoteProtocolError, match="got api key 68 version 0"):
            read(assignment(), api_key=70)

    def test_an_answer_is_framed_under_its_correlation_id(self):
        message = "Replication factor: 4 larger than available brokers: 3."
        response = AssignmentResponse(rows=None, error_code=38, error_message=message)
        assert write_answer(7, response) == bytes.fromhex(
            "00000045 00000007 00 01 02 00 02 0026 01 38 38" + message.encode().hex()
        )


class TestNotAnswered:
    """The connection is closed without an answer, as Kafka does."""

    @pytest.mark.parametrize(
        ("key", "version"), [(0, 9), (1, 0), (3, 2), (3, -1), (68, 1), (68, -1), (-1, 0)]
    )
    def test_other_messages(self, key, version):
        with pytest.raises(RemoteProtocolError) as refused:
            read(header(key, version, version=1))
        assert str(refused.value) == (
            f"offset 0: expected a message that is served, got api key {key} version {version}"
        )

    @pytest.mark.parametrize("where", ["client_id", "client_software_name", "software"])
    def test_the_length_of_names_is_limited(self, where):
        long, short = "ü" * (MOST_NAME + 1), "ü" * MOST_NAME
        made = {
            "client_id": lambda text: header(3, 0, version=1, client_id=text) + bytes(4),
            "client_software_name": lambda text: versions(3, name=text),
            "software": lambda text: versions(4, software=text),
        }[where]
        assert isinstance(read(made(short)), bytes)
        with pytest.raises(
            RemoteProtocolError, match=r"expected a .* of up to 256 characters, got one of 257"
        ):
            read(made(long))

    @given(st.data())
    def test_hostile_frames_end_in_an_answer_or_one_error(self, data):
        frames = [assignment(), versions(3), versions(0), bytes.fromhex(KIP_REQUEST)]
        frame = bytearray(data.draw(st.sampled_from(frames)))
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(frame) - 1))
            frame[place] ^= 1 << data.draw(st.integers(0, 7))
        cut = data.draw(st.integers(0, len(frame)))
        for hostile in (bytes(frame), bytes(frame[:cut]), bytes(frame) + b"JUNK"):
            try:
                found = read(hostile)
            except RemoteProtocolError:
                continue
            assert isinstance(found, bytes | Call)

    @pytest.mark.parametrize("frame", [assignment(), versions(3), versions(0)])
    def test_every_proper_prefix_is_rejected(self, frame):
        for end in range(len(frame)):
            with pytest.raises(RemoteProtocolError):
                read(frame[:end])


def test_frames_are_sizes_and_messages():
    assert framed(b"ab", b"") == bytes.fromhex("00000002 6162 00000000")
