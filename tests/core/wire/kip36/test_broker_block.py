"""The broker block: what one broker is told of another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_wire import check_round_trip
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.endpoints import Endpoint, SecurityProtocol
from rackwise.core.wire.kip36.broker_block import read_broker, write_broker
from wire_messages import (
    BLOCK_1,
    BLOCK_2,
    BROKER_1,
    BROKER_2,
    SSL_1,
    as_read,
    brokers,
    octets,
    plaintext,
)

VERSIONS = pytest.mark.parametrize("version", [0, 1, 2])


def listening(*endpoints, rack=None, version=2):
    return as_read(7, endpoints, rack=rack, version=version)


class TestVectors:
    @VERSIONS
    def test_are_written(self, version):
        assert write_broker(BROKER_1, version=version) == BLOCK_1[version]
        assert write_broker(BROKER_2, version=version) == BLOCK_2[version]

    @VERSIONS
    def test_are_read(self, version):
        endpoints = BROKER_1.endpoints
        found = read_broker(b"ab" + BLOCK_1[version] + b"c", version=version, offset=2)
        assert found == (
            as_read(1, endpoints, rack="dc1", version=version),
            2 + len(BLOCK_1[version]),
        )


class TestRack:
    """ "If rack is not available, it will write size -1 only without any actual string content.
    When reading from ByteBuffer, -1 will be interpreted as "null"."."""

    @pytest.mark.parametrize(
        ("rack", "data"),
        [
            (None, "ffff"),
            ("", "0000"),
            ("dc1", "0003646331"),
            ("zürich-1", "0009 7ac3bc726963682d31"),
        ],
    )
    def test_null_and_empty_differ(self, rack, data):
        broker = as_read(1, BROKER_1.endpoints, rack=rack)
        written = BLOCK_1[1] + octets(data)
        assert write_broker(broker, version=2) == written
        assert read_broker(written, version=2) == (broker, len(written))

    @pytest.mark.parametrize("version", [0, 1])
    def test_is_left_out_before_version_2(self, version):
        plain = as_read(1, BROKER_1.endpoints)
        assert write_broker(BROKER_1, version=version) == write_broker(plain, version=version)


class TestEndpoints:
    def test_host_and_port_change_places_between_versions(self):
        assert BLOCK_2[0].endswith(octets("0005686f737432 00002384"))
        assert BLOCK_2[1].endswith(octets("00002384 0005686f737432 0000"))

    def test_of_one_protocol_are_all_kept(self):
        broker = listening(plaintext("a"), SSL_1, plaintext("b", 9094))
        assert read_broker(write_broker(broker, version=2), version=2)[0] == broker
        assert (broker.host, broker.port) == ("a", 9092)

    def test_lose_the_name_of_their_listener(self):
        inside = Endpoint(
            listener="INSIDE", protocol=SecurityProtocol.SASL_SSL, host="h", port=9095
        )
        read, _ = read_broker(write_broker(listening(inside), version=1), version=1)
        assert [str(e) for e in read.endpoints] == ["SASL_SSL://h:9095"]
        assert (read.host, read.port) == (None, -1)

    @pytest.mark.parametrize(
        ("endpoints", "had"),
        [((SSL_1,), "SSL only"), ((SSL_1, SSL_1), "SSL only"), ((), "none")],
        ids=["one", "two", "none"],
    )
    def test_without_plaintext_have_no_version_0(self, endpoints, had):
        with pytest.raises(LocalProtocolError) as caught:
            write_broker(listening(*endpoints), version=0)
        assert str(caught.value) == f"version 0 holds one PLAINTEXT endpoint; broker 7 has {had}"
        assert caught.value.hint == "write version 1 or 2"

    @VERSIONS
    def test_have_a_host(self, version):
        with pytest.raises(
            LocalProtocolError,
            match=r"^broker 7: expected an endpoint with a host, got PLAINTEXT://:9092$",
        ):
            write_broker(listening(plaintext(None)), version=version)

    @pytest.mark.parametrize(
        ("broker", "told"),
        [
            (listening(plaintext("h" * 40_000)), "host has 40000"),
            (listening(plaintext("h"), rack="r" * 40_000), "rack has 40000"),
        ],
        ids=["host", "rack"],
    )
    def test_hosts_and_racks_have_up_to_32767_bytes(self, broker, told):
        with pytest.raises(LocalProtocolError, match=f"^STRING holds 32767 bytes; {told}$"):
            write_broker(broker, version=2)


class TestBadBytes:
    def test_a_protocol_that_nobody_knows(self):
        data = octets("00000001 00000001 00002384 0000 0009")
        with pytest.raises(RemoteProtocolError) as caught:
            read_broker(data, version=1)
        assert str(caught.value) == "offset 14: invalid protocol: expected 0..3, got 9"
        assert caught.value.offset == 14

    @pytest.mark.parametrize(
        ("version", "data", "offset"),
        [
            (0, "00000001 0005686f", 6),
            (1, "00000001 fffffffe", 4),
            (1, "00000001 00000002 00002384 0000 0000", 4),
            (1, "00000001 00000001 00002384 ffff 0000", 12),
            (2, BLOCK_1[1].hex(), len(BLOCK_1[1])),
        ],
        ids=["short", "count -2", "count over what is left", "no host", "no rack"],
    )
    def test_what_is_no_block(self, version, data, offset):
        with pytest.raises(RemoteProtocolError, match=f"^offset {offset}: ") as caught:
            read_broker(octets(data), version=version)
        assert caught.value.offset == offset


@VERSIONS
@given(drawn=st.data())
def test_what_was_written_is_read(version, drawn):
    def read(data):
        found, offset = read_broker(data, version=version)
        if offset < len(data):
            raise RemoteProtocolError("more", offset=offset)
        return found

    check_round_trip(
        drawn.draw(brokers(version)), lambda value: write_broker(value, version=version), read
    )


@pytest.mark.parametrize("version", [-1, 3])
def test_other_versions_have_no_codec(version):
    with pytest.raises(LocalProtocolError, match="invalid Broker version: expected 0 to 2"):
        write_broker(BROKER_1, version=version)
    with pytest.raises(LocalProtocolError, match="invalid Broker version: expected 0 to 2"):
        read_broker(BLOCK_1[2], version=version)
