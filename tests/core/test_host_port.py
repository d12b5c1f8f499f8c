"""HOST:PORT: one rule for fleet files, bootstrap servers and the addresses of the service."""

from __future__ import annotations

import pytest

from rackwise.core.host_port import host_and_port


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kafka-1.internal:9092", ("kafka-1.internal", 9092)),
        ("[::1]:65535", ("::1", 65535)),
        ("::1:1", ("::1", 1)),
        ("a" * 255 + ":1", ("a" * 255, 1)),
    ],
)
def test_a_host_and_a_port(text, wanted):
    assert host_and_port(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a:", ":1", "[]:1", "a:0", "a:65536", "a:-1", "a:x", "a:\u0661", "a: 1"),
        *("a:" + "1" * 5000, "a" * 256 + ":1", "kafka 1:9092", "a\tb:1", "a\u2003b:1"),
        *("k\x1b[0m:9092", "\udcff:1", "a:1,b:2", "a,b:2"),
    ],
)
def test_a_text_that_is_not_host_and_port(text):
    assert host_and_port(text) is None


def test_port_0_is_one_where_the_system_chooses():
    assert host_and_port("a:0", least_port=0) == ("a", 0)
