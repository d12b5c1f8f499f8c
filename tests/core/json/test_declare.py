"""Declared texts: which addresses and times are accepted, and what the others are told."""

from __future__ import annotations

import pytest

from rackwise.core.errors import InvalidConfig
from rackwise.core.json.codec import Codec
from rackwise.core.json.declare import IpAddress, UtcTime
from rackwise.core.json.faults import Faults
from rackwise.core.json.node import JsonNode


def read(kind, value):
    faults = Faults("f.json", InvalidConfig)
    found = Codec().form(kind).read(JsonNode(value, faults))
    faults.raise_if_any()
    return found


def refused(kind, value):
    with pytest.raises(InvalidConfig) as raised:
        read(kind, value)
    return raised.value


@pytest.mark.parametrize("text", ["10.0.0.1", "fd00::1"])
def test_an_address_is_accepted(text):
    assert read(IpAddress, text) == text


@pytest.mark.parametrize("text", ["", "broker-1", "10.0.0.256", "10.0.0.0/24"])
def test_another_text_than_an_address_tells_how_to_get_addresses(text):
    error = refused(IpAddress, text)
    assert error.message == f'invalid f.json at $: expected an IP address, got "{text}"'
    assert error.hint == "rackwise snapshot --resolve writes them"


@pytest.mark.parametrize("text", ["2026-11-21T08:30:00Z", "2026-11-21T08:30:00.125Z"])
def test_a_time_in_utc_is_accepted(text):
    assert read(UtcTime, text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Z",
        "2026-11-21",
        "2026-11-21T08:30:00",
        "2026-11-21T08:30:00+01:00",
        "2026-11-21 08:30:00Z",
        "2026-13-21T08:30:00Z",
        "2026-11-21T25:30:00Z",
    ],
)
def test_another_text_than_a_time_in_utc_is_a_fault(text):
    error = refused(UtcTime, text)
    wanted = "a time such as 2026-11-21T08:30:00Z"
    assert error.message == f'invalid f.json at $: expected {wanted}, got "{text}"'


@pytest.mark.parametrize("kind", [IpAddress, UtcTime], ids=["address", "time"])
def test_a_value_that_is_no_text_is_a_fault(kind):
    assert refused(kind, 7).message.endswith(", got 7")
