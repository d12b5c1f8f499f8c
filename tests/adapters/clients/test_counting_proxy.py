"""The counting proxy of the examples, between sockets that speak Kafka's frames."""

from __future__ import annotations

import socket
import struct
from contextlib import ExitStack
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples" / "consumers"
PATIENCE_S = 30
PRODUCE, FETCH, METADATA = 0, 1, 3


@pytest.fixture
def proxied(monkeypatch):
    """Proxies before two brokers, and how a client connects: a pair of its socket and theirs."""
    monkeypatch.syspath_prepend(EXAMPLES)
    from counting_proxy import CountingProxies

    with ExitStack() as opened, CountingProxies(2) as proxies:
        brokers = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        proxies.targets = [each.getsockname()[1] for each in brokers]

        def pair(broker):
            address = ("127.0.0.1", proxies.ports[broker])
            client = opened.enter_context(socket.create_connection(address, PATIENCE_S))
            brokers[broker].settimeout(PATIENCE_S)
            server = opened.enter_context(brokers[broker].accept()[0])
            server.settimeout(PATIENCE_S)
            return client, server

        yield proxies, pair


def framed(content):
    return struct.pack(">i", len(content)) + content


def request(key, correlation, client, rest=b""):
    name = struct.pack(">h", -1) if client is None else struct.pack(">h", len(client)) + client
    return framed(struct.pack(">hhi", key, 12, correlation) + name + rest)


def answer(correlation, size):
    return framed(struct.pack(">i", correlation) + bytes(size))


def goes(sender, receiver, content):
    """Whether it arrives unchanged."""
    sender.sendall(content)
    with receiver.makefile("rb") as arriving:
        return arriving.read(len(content)) == content


def test_fetch_answers_are_counted_by_broker_and_client(proxied):
    proxies, pair = proxied
    for broker, name, size in ((0, b"a", 10), (0, b"b", 200_000), (1, b"a", 30)):
        client, server = pair(broker)
        assert goes(client, server, request(FETCH, 7, name, b"rest"))
        assert goes(server, client, answer(7, size))
    counted = [proxies.fetched(broker, name) for broker in (0, 1) for name in "ab"]
    assert counted == [18, 200_008, 38, 0]


def test_produce_requests_are_counted_by_broker_and_client(proxied):
    proxies, pair = proxied
    for broker, name, size in ((0, b"a", 10), (0, b"b", 200_000), (1, b"a", 30), (1, b"a", 30)):
        client, server = pair(broker)
        sent = request(PRODUCE, 7, name, bytes(size))
        assert goes(client, server, sent)
        assert goes(server, client, answer(7, 100))
    counted = [proxies.produced(broker, name) for broker in (0, 1) for name in "ab"]
    assert counted == [25, 200_015, 90, 0]
    assert proxies.fetched(0, "a") == 0


def test_other_answers_pass_and_are_not_counted(proxied):
    proxies, pair = proxied
    client, server = pair(0)
    assert goes(client, server, request(METADATA, 1, b"a") + request(FETCH, 2, b"a"))
    assert goes(server, client, answer(1, 1000) + answer(2, 5) + answer(1, 1000))
    assert proxies.fetched(0, "a") == 13
    assert proxies.produced(0, "a") == 0


def test_a_client_without_a_name_is_counted_as_the_empty_one(proxied):
    proxies, pair = proxied
    client, server = pair(0)
    assert goes(client, server, request(FETCH, 1, None, b"rest"))
    assert goes(server, client, answer(1, 5))
    assert proxies.fetched(0, "") == 13


@pytest.mark.parametrize("first", [0, 1])
def test_what_one_side_ends_is_ended_for_the_other(proxied, first):
    _, pair = proxied
    sides = pair(0)
    assert goes(*sides, request(FETCH, 1, b"a"))
    sides[first].close()
    assert sides[1 - first].recv(1) == b""


def test_a_broker_that_is_away_ends_the_connection(proxied):
    proxies, _ = proxied
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        proxies.targets = [deaf.getsockname()[1]] * 2
        with socket.create_connection(("127.0.0.1", proxies.ports[0]), PATIENCE_S) as client:
            assert client.recv(1) == b""
