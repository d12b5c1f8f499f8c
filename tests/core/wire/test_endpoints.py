"""Endpoints as Kafka reads and writes them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import LocalProtocolError
from rackwise.core.wire.endpoints import Endpoint, EndpointText, SecurityProtocol, read_endpoint
from registrations import endpoint


@pytest.mark.parametrize(
    ("text", "listener", "host", "port"),
    [
        ("PLAINTEXT://host1:9092", "PLAINTEXT", "host1", 9092),
        ("PLAINTEXT://:9092", "PLAINTEXT", None, 9092),
        ("PLAINTEXT://[::1]:9092", "PLAINTEXT", "::1", 9092),
        (
            "PLAINTEXT://[fe80::b1da:69ca:57f7:63d8%3]:9092",
            "PLAINTEXT",
            "fe80::b1da:69ca:57f7:63d8%3",
            9092,
        ),
        ("PLAINTEXT://MyHostname:9092", "PLAINTEXT", "MyHostname", 9092),
        ("SSL://host1:-1", "SSL", "host1", -1),
        ("A://B://host_1:1", "A://B", "host_1", 1),
        ("://host1:1", "", "host1", 1),
    ],
)
def test_a_text_is_read_and_written_back(text, listener, host, port):
    assert read_endpoint(text) == EndpointText(listener=listener, host=host, port=port)
    told = Endpoint(listener=listener, protocol=SecurityProtocol.SSL, host=host, port=port)
    assert str(told) == text


def test_names_become_upper_case_and_hosts_keep_their_case():
    assert read_endpoint("client://MyHostname:9092") == EndpointText(
        listener="CLIENT", host="MyHostname", port=9092
    )


def test_brackets_are_for_colons_alone():
    assert read_endpoint("X://[host1]:1") == EndpointText(listener="X", host="host1", port=1)
    assert read_endpoint("X://::1:9092") == EndpointText(listener="X", host="::1", port=9092)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SSL:host1",
        "SSL://host1",
        "SSL://host1:",
        "SSL://host 1:9092",
        "SSL://host~1:9092",
        "SSL://host1:9092 ",
        "SSL://host1:9092\n",
        "S\nL://host1:9092",
        "S\u2028L://host1:9092",
        "SSL://host1:٣",
        "SSL://host1:2147483648",
        "SSL://host1:-2147483649",
        "SSL://host1:" + "9" * 5000,
    ],
)
def test_what_is_no_endpoint(text):
    assert read_endpoint(text) is None


@given(st.text("aZ0:/[]-.%_1 \n\x85", max_size=24) | st.text(max_size=24))
def test_kafkas_pattern_says_what_an_endpoint_is(text):
    """`^(.*)://\\[?([0-9a-zA-Z\\-%._:]*)\\]?:(-?[0-9]+)`, whole, where a dot is no line break."""
    kafkas = re.compile(r"([^\n\r\x85\u2028\u2029]*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
    told = kafkas.fullmatch(f"A://{text}:9092")
    wanted = told and EndpointText(told[1].upper(), told[2] or None, int(told[3]))
    assert read_endpoint(f"A://{text}:9092") == wanted


@pytest.mark.parametrize("port", [True, 2**31, -(2**31) - 1, "9092", 1.0, None])
def test_a_port_is_an_integer_of_32_bits(port):
    with pytest.raises(LocalProtocolError, match="port: expected an integer of 32 bits"):
        Endpoint(listener="SSL", protocol=SecurityProtocol.SSL, host="h", port=port)


def test_the_numbers_of_the_protocols():
    assert {each.name: int(each) for each in SecurityProtocol} == {
        "PLAINTEXT": 0,
        "SSL": 1,
        "SASL_PLAINTEXT": 2,
        "SASL_SSL": 3,
        "TRACE": 32767,
    }
    assert endpoint("SSL://h:1").protocol is SecurityProtocol.SSL
