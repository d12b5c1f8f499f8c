"""Asking somebody else where replicas go, byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_wire import check_round_trip
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.headers import (
    RequestHeader,
    write_frame,
    write_request_header,
    write_response_header,
)
from rackwise.core.wire.replica_assignment import (
    API_KEY,
    MARKER,
    MOST_CELLS,
    AssignmentRequest,
    AssignmentResponse,
    ErrorCode,
    read_request,
    read_response,
    write_request,
    write_response,
)
from rackwise.core.wire.writer import Writer
from wire_messages import (
    ASSIGNMENT_ANSWERS,
    ASSIGNMENT_QUESTIONS,
    ASSIGNMENT_REQUESTS,
    MARKER_HEX,
    TOO_FEW,
    assignment_responses,
    assignment_rows,
    octets,
)

QUESTION = ASSIGNMENT_QUESTIONS["three brokers"][1]
ANSWER = ASSIGNMENT_ANSWERS["rows"][1]


def rows_of(*rows):
    return np.array(rows, dtype=np.int32)


def one_by_one(rows, first):
    """The array of an answer, written item by item."""
    writer = Writer()
    writer.unsigned_varint(1 + (0 if rows is None else len(rows)))
    for partition, row in enumerate(() if rows is None else rows.tolist(), start=first):
        replicas = [broker for broker in row if broker >= 0]
        writer.int32(partition)
        writer.unsigned_varint(len(replicas) + 1)
        writer.int32s(replicas)
        writer.tags()
    writer.tags()
    return bytes(writer.data)


class TestRequest:
    """ "NumPartitions", "ReplicationFactor", "ForceSimpleAssignment", "NodeId", "timeoutMs"."""

    @pytest.mark.parametrize("name", ASSIGNMENT_QUESTIONS)
    def test_vectors(self, name):
        request, data = ASSIGNMENT_QUESTIONS[name]
        assert write_request(request) == data
        assert read_request(data) == request

    def test_in_its_frame(self):
        header = RequestHeader(
            api_key=API_KEY, api_version=0, correlation_id=7, client_id="rackwise"
        )
        framed = write_frame(write_request_header(header, version=2) + QUESTION)
        assert framed == (octets("0000002c 0044 0000 00000007 0008 7261636b77697365 00") + QUESTION)

    @given(ASSIGNMENT_REQUESTS)
    def test_is_read_as_written(self, request):
        check_round_trip(request, write_request, read_request)

    @pytest.mark.parametrize(
        ("data", "told"),
        [
            (QUESTION + b"JUNK", "offset 25: expected the end, got 4 more bytes"),
            (
                octets("00000006 0003 00 00 0000ea60 00"),
                "offset 7: expected a count from 0 to 1, got -1",
            ),
            (
                octets("00000006 0003 00 ffffffff0f 0000ea60 00"),
                "offset 7: expected a count from 0 to 1, got 4294967294",
            ),
            (
                octets("00000006 0003 00 8080808010 0000ea60 00"),
                "offset 7: expected a varint of up to 32 bits, got 4294967296",
            ),
            (octets("00000006 0003 02 01 0000ea60 00"), "offset 6: expected 0 or 1, got 2"),
            (QUESTION[:-1] + octets("02 01 00 01 00"), "expected a tag over 1, got 1"),
        ],
    )
    def test_that_cannot_be_is_refused(self, data, told):
        with pytest.raises(RemoteProtocolError, match=f"{told}$"):
            read_request(data)

    @pytest.mark.parametrize("end", range(len(QUESTION)))
    def test_that_was_cut_is_refused(self, end):
        with pytest.raises(RemoteProtocolError, match=r"expected .*, got "):
            read_request(QUESTION[:end])

    @pytest.mark.parametrize(
        "wrong",
        [
            {"num_partitions": 2**31},
            {"replication_factor": 2**15},
            {"force_simple_assignment": 1},
            {"node_ids": (1, True)},
            {"timeout_ms": -(2**31) - 1},
            {"unknown_tags": ((3, b""), (3, b""))},
        ],
        ids=str,
    )
    def test_that_does_not_fit_is_not_written(self, wrong):
        request = AssignmentRequest(**({"num_partitions": 1, "replication_factor": 1} | wrong))
        with pytest.raises(LocalProtocolError, match=r"expected .*, got "):
            write_request(request)


class TestResponse:
    @pytest.mark.parametrize("name", ASSIGNMENT_ANSWERS)
    def test_vectors(self, name):
        response, data = ASSIGNMENT_ANSWERS[name]
        assert write_response(response) == data
        assert read_response(data) == response

    @pytest.mark.parametrize(("name", "size"), [("rows", "23"), ("error with text", "45")])
    def test_in_its_frame(self, name, size):
        body = ASSIGNMENT_ANSWERS[name][1]
        framed = write_frame(write_response_header(7, version=1) + body)
        assert framed == octets(f"000000{size} 00000007 00") + body

    def test_without_error_is_the_text_s_to_the_byte(self):
        rows = rows_of([1, 2, 300], [2, 1, 3])
        assert write_response(AssignmentResponse(rows=rows)) == one_by_one(rows, 0)

    def test_with_an_error_reads_as_empty_to_whoever_knows_the_text_alone(self):
        assert ASSIGNMENT_ANSWERS["error with text"][1][0] == 1
        assert len(TOO_FEW) == 55

    @given(assignment_responses())
    def test_is_read_as_written(self, response):
        check_round_trip(response, write_response, read_response)

    @given(assignment_rows(), st.integers(0, 2**31 - 6))
    def test_equals_the_encoding_item_by_item(self, rows, first):
        assert write_response(AssignmentResponse(rows=rows, first=first)) == one_by_one(rows, first)

    def test_with_rows_in_another_order_is_read_by_partition(self):
        data = octets("03 00000006 02 00000001 00 00000005 02 00000002 00 00")
        assert read_response(data) == AssignmentResponse(rows=rows_of([2], [1]), first=5)

    def test_with_tagged_fields_of_a_row_is_read(self):
        data = octets("02 00000005 02 00000001 01 07 01 ff 00")
        assert read_response(data) == AssignmentResponse(rows=rows_of([1]), first=5)

    def test_may_say_null_for_a_text(self):
        assert read_response(octets("01 01 01 01 00")) == AssignmentResponse(rows=None)

    @pytest.mark.parametrize(
        ("data", "told"),
        [
            ("03 00000000 01 00 00000002 01 00 00", "each partition from the first on once"),
            ("03 00000001 01 00 00000001 01 00 00", "each partition from the first on once"),
            ("02 ffffffff 01 00 00", "each partition from the first on once"),
            (
                "03 00000000 02 00000001 00 00000001 02 ffffffff 00 00",
                "offset 16: expected a broker id from 0 on, got -1",
            ),
            (
                "03 00000000 01 00 00000001 02 fffffffe 00 00",
                "offset 11: expected broker ids from 0 on, got -2",
            ),
            ("02 00000000 00 00 00", "offset 5: expected a count from 0 to 0, got -1"),
            ("00 00", "offset 0: expected a count from 0 to 0, got -1"),
            ("01 01 00 03 000700 00", "offset 4: expected 3 bytes of tag 0, got a field of 2"),
            ("01 00 00", "offset 2: expected the end"),
        ],
    )
    def test_that_cannot_be_is_refused(self, data, told):
        with pytest.raises(RemoteProtocolError, match=told):
            read_response(octets(data))

    def test_asks_for_no_more_memory_than_it_may(self):
        rows = (MOST_CELLS >> 10) + 1
        long = octets("00000000 8108") + bytes(4096 + 1)
        short = b"".join(p.to_bytes(4, "big") + b"\x01\x00" for p in range(1, rows))
        writer = Writer()
        writer.unsigned_varint(rows + 1)
        with pytest.raises(RemoteProtocolError, match="expected up to 1023 replicas, got 1024"):
            read_response(bytes(writer.data) + long + short + b"\x00")

    @pytest.mark.parametrize(
        ("rows", "told"),
        [
            ([[1]], "expected rows of int32 of 2 dimensions, got list"),
            (np.array([[1]], dtype=np.int64), "got int64 of 2 dimensions"),
            (np.array([1], dtype=np.int32), "got int32 of 1 dimensions"),
            (rows_of([1, -2]), "broker ids from 0 on, then padding"),
            (rows_of([-1, 2]), "broker ids from 0 on, then padding"),
        ],
        ids=["list", "int64", "one dimension", "below", "padding first"],
    )
    def test_has_rows_of_one_kind(self, rows, told):
        with pytest.raises(LocalProtocolError, match=told):
            AssignmentResponse(rows=rows)

    @pytest.mark.parametrize("first", [-1, 2**31 - 1])
    def test_has_partitions_of_32_bits(self, first):
        with pytest.raises(LocalProtocolError, match="partitions from 0 on of 32 bits"):
            write_response(AssignmentResponse(rows=rows_of([1], [2]), first=first))

    def test_leaves_the_rows_it_was_given_as_they_are(self):
        rows = rows_of([1])
        response = AssignmentResponse(rows=rows)
        assert rows.flags.writeable
        assert not response.rows.flags.writeable

    def test_of_no_rows_has_none(self):
        assert AssignmentResponse(rows=np.empty((0, 3), dtype=np.int32)).rows is None

    def test_equals_another_with_the_same_fields(self):
        response = AssignmentResponse(rows=rows_of([1, 2]))
        assert response == AssignmentResponse(rows=rows_of([1, 2]))
        assert response != AssignmentResponse(rows=rows_of([2, 1]))
        assert response != AssignmentResponse(rows=rows_of([1, 2]), first=1)
        assert response != AssignmentResponse(rows=None)
        assert response != "0:[1,2]"


def test_key_and_marker_are_those_of_the_text_and_ours():
    assert (68, bytes.fromhex(MARKER_HEX).decode()) == (API_KEY, MARKER)
    assert ErrorCode(38).name == "INVALID_REPLICATION_FACTOR"
